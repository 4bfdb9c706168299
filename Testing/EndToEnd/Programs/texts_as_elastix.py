"""Prints what the programs print under the names elastix and transformix, and elastix.log: 34 command lines.

usage: texts_as_elastix.py [--numbers]       in an empty folder, with the programs in PATH

Times, dates, host, memory and versions are masked. Without --numbers figures are, too, so that the texts do not depend on
results: equal lines that follow each other are one, a log is told by the lines that the terminal does not show (without those of
its parameter files), help by its first lines, and a text most of which an earlier command has by what differs. With --numbers two
builds can be compared to the last digit.
"""
import difflib
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
IMAGES = "-f f3.mha -m m3.mha"
COMMANDS = f"""
elastix
elastix --help
elastix --version
elastix {IMAGES} -out out
elastix -p small.txt -f f3.mha -out out
elastix -p small.txt -m m3.mha -out out
elastix {IMAGES} -p small.txt
elastix {IMAGES} -p MRRigid -out out
elastix f3.mha m3.mha -p small.txt -out out
elastix --fixed f3.mha -m m3.mha -p small.txt -out out
elastix {IMAGES} -p small.txt -p
elastix {IMAGES} -p small.txt -p small.txt -out out -out other
elastix {IMAGES} -p unread.txt -out out
elastix -f missing.mha -m m3.mha -p small.txt -out out
elastix -f far.mha -m m3.mha -p small.txt -out out
elastix {IMAGES} -p small.txt -out f3.mha
elastix {IMAGES} -p small.txt -out out -q
elastix {IMAGES} -p small.txt -out out -v
elastix {IMAGES} -p small.txt -out out -loglevel warning
elastix {IMAGES} -p small.txt -out out
elastix {IMAGES} -p small.txt -p free.txt -out out
elastix {IMAGES} -fMask l3.mha -mMask k3.mha -p small.txt -out out
elastix {IMAGES} -fp fp3.txt -mp mp3.txt -p small.txt -out out
elastix {IMAGES} -fp fp3.txt -p small.txt -out out
elastix {IMAGES} -t0 kept/TransformParameters.0.txt -p small.txt -out out
elastix {IMAGES} -p small.txt -threads 0 -out out
transformix
transformix --help
transformix -in m3.mha -out out
transformix -in m3.mha -tp missing.txt -out out
transformix -in m3.mha -tp small.txt -out out
transformix -in m3.mha -tp kept/TransformParameters.0.txt -out out
transformix -def fp3.txt -tp kept/TransformParameters.0.txt -out out
transformix -def all -jac all -jacmat all -tp kept/TransformParameters.0.txt -out out
"""
SMALL = """(NumberOfResolutions 2)
(ImageSampler "RandomCoordinate")
(NumberOfSpatialSamples 300)
(NewSamplesEveryIteration "true")
(Transform "EulerTransform")
(Metric "AdvancedMeanSquares")
(Optimizer "AdaptiveStochasticGradientDescent")
(MaximumNumberOfIterations 4)
(ResultImageFormat "mha")
(RandomSeed 5)
"""
TIMES = ((r"\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}", "DATE"), (r"(runs at: ).*", r"\1HOST"),
         (r"^  Linux .*", "  SYSTEM"), (r"((?:version|Git revision \w+|ERSION)(?: |: )).*", r"\1#"),
         (r"\(Tessera .*\)", "(Tessera #)"),
         (r"\d[\d.e+-]* ?(?=(s|ms|us|min|h|seconds|bytes|[kMG]i?B)\b)", "# "), (r" +# ms +[\d.]+ %", " # ms # %"))
FIGURES = ((r"\d+ \(digest|\bchecksum: \d+", "checksum #"), (r"^\d+\t.*", "ROW"), (r"-?\d+\.\d+(e[+-]\d+)?|\b\d+e[+-]\d+", "#"),
           (r"^Device: .*", "Device: #"), (r"(?<=of )\d+(?= (voxels|points))", "#"), (r'"\w{64}"', '"#"'))


def masked(text, masks):
    lines, times, found = [], [], text.splitlines()
    for line in found:
        cells = line.split("\t")
        if "Time[ms]" in cells:
            times = [column for column, cell in enumerate(cells) if "[ms]" in cell]
        elif times and len(cells) > times[-1]:
            line = "\t".join("#" if column in times else cell for column, cell in enumerate(cells))
        for pattern, mask in masks:
            line = re.sub(pattern, mask, line)
        if masks == TIMES or not lines or line != lines[-1]:
            lines.append(line)
    return lines


def told(command, lines, earlier):
    """The lines, or how they differ from those of the earlier command that are most like them."""
    likeness = {name: difflib.SequenceMatcher(None, text, lines, autojunk=False).ratio() for name, text in earlier.items()}
    nearest = max(likeness, key=likeness.get, default=None)
    if len(lines) < 20 or likeness[nearest] < 0.75:
        earlier[command] = lines
        return lines
    return [f"as $ {nearest}", *list(difflib.unified_diff(earlier[nearest], lines, n=0, lineterm=""))[2:]]


def main():
    masks = TIMES if "--numbers" in sys.argv else TIMES + FIGURES
    subprocess.run([sys.executable, f"{HERE}/../../Benchmarks/small-inputs"], check=True)
    os.mkdir("bin")
    for name, program in ("elastix", "tessera"), ("transformix", "tessera-transform"):
        os.symlink(shutil.which(program), f"bin/{name}")
    for name, lines in {"small": "", "free": '(Transform "BSplineTransform")\n(FinalGridSpacingInVoxels 8)\n',
                        "unread": "(MaximumNumberOfIteration 3)\n"}.items():
        own = {line.split()[0] for line in lines.splitlines()}
        text = "".join(line for line in SMALL.splitlines(True) if line.split()[0] not in own) + lines
        open(f"{name}.txt", "w").write(text)
    environment = {**os.environ, "PATH": "bin:" + os.environ["PATH"], "LC_ALL": "C", "TZ": "UTC", "OMP_NUM_THREADS": "2"}
    for variable in "SLURM_CPUS_PER_TASK", "TESSERA_CALIBRATION":
        environment.pop(variable, None)
    earlier = {}
    for command in [f"elastix {IMAGES} -p small.txt -out kept", *COMMANDS.strip().splitlines()]:
        shutil.rmtree("out", ignore_errors=True)
        os.makedirs("out" if "-out out" in command else "kept", exist_ok=True)
        words = command.split()
        ended = subprocess.run(words, capture_output=True, stdin=subprocess.DEVNULL, env=environment, text=True)
        if "-out kept" in command:
            continue
        log = [name for name in ("elastix", "transformix") if os.path.exists(f"out/{name}.log")]
        texts = {"stdout": ended.stdout, "stderr": ended.stderr,
                 **{f"{name}.log": open(f"out/{name}.log").read() for name in log}}
        shown, whole = set(), []
        for name, text in texts.items():
            lines = masked(text, masks)
            if masks != TIMES:
                lines = [line for line in lines if line not in shown and not line.startswith("(")]
                lines = lines[:5 if "--help" in words else None]
                shown |= set(lines)
            whole += [f"{name}: {line}" if line else f"{name}:" for line in lines]
        whole.append(f"exit code: {ended.returncode}")
        print("$", *words)
        print(*(whole if masks == TIMES else told(" ".join(words), whole, earlier)), "", sep="\n")


main()
