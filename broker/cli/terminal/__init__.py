"""How commands meet a terminal: options, input lines, output, signals and failures."""
