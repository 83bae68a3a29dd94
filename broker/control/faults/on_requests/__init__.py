"""Effects of faults on the requests that match: held up, refused, dropped, the answer lost, throttled or cut."""
