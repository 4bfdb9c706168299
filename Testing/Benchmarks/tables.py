"""What the scripts of this folder share: programs that are run, tables as text and JSON, and the machine."""
import json
import os
import pathlib
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2]
os.environ["PATH"] = os.environ.get("BIN", str(SOURCE / "build/release/bin")) + ":" + os.environ["PATH"]


def run(*command, out=None, allowed=(0,)):
    """Standard output of a command, which is stored as `out` too. A command that fails ends the script."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode not in allowed:
        sys.exit(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    if out:
        pathlib.Path(out).write_text(done.stdout)
    return done.stdout


def read(path):
    return json.loads(pathlib.Path(path).read_text())


def machine():
    return run("tessera-bench", "machine").splitlines()[0]


def column(rows, name):
    return [row[name] for row in rows if row.get(name) is not None]


def mean_row(rows, name="all"):
    """A row with the mean of each column of numbers."""
    first = next(iter(rows[0]))
    means = {first: name}
    for key in dict.fromkeys(key for row in rows for key in row):
        values = [value for value in column(rows, key) if isinstance(value, (int, float)) and not isinstance(value, bool)]
        if values and key != first:
            means[key] = sum(values) / len(values)
    return means


def cell(value):
    if isinstance(value, float):
        return f"{value:.4g}"
    return "" if value is None else str(value)


def markdown(table):
    keys = list(dict.fromkeys(key for row in table["rows"] for key in row))
    lines = [keys] + [[cell(row.get(key)) for key in keys] for row in table["rows"]]
    widths = [max(len(line[i]) for line in lines) for i in range(len(keys))]
    text = ["| " + " | ".join(word.ljust(width) for word, width in zip(line, widths)) + " |" for line in lines]
    text.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join([table["title"]] + text)


def show(tables, path=None):
    """Prints tables, each {"title": ..., "rows": [{column: cell}]}, and stores them in the form of tessera-bench --json."""
    report = {"machine": machine(), "tables": [table for table in tables if table["rows"]]}
    print("\n\n".join([report["machine"]] + [markdown(table) for table in report["tables"]]))
    if path:
        pathlib.Path(path).write_text(json.dumps(report, indent=1) + "\n")
