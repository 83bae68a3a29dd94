"""Terminal input and output of commands: options, input lines, output, signals and failures."""
