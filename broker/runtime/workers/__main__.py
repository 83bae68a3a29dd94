"""The program of a helper process: `python -I -S …/workers/__main__.py PATH …`, with the import path of its broker."""

import sys

if __name__ == "__main__":
    sys.path.extend(path for path in sys.argv[1:] if path not in sys.path)
    from barnabas.broker.runtime.workers.process import main

    main()
