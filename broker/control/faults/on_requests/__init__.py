"""What faults do to the requests that they match: held up, refused, dropped, the answer lost, slowed or cut."""
