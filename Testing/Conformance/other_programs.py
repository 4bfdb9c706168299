"""Transforms that other programs read and write, by their own readers and writers, against tessera-transform -def.

usage: other_programs.py PACKAGE FOLDER, PACKAGE one of sitk, ants, nitransforms, fsl, greedy.
Ends with 77 and its reason if the package is missing. All images are oblique, of different grids; the affine transform has a turn,
a scale and a shift of known size, the other is a B-spline after it.
"""
import importlib
import os
import subprocess
import sys

try:
    import numpy as np
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

WITHIN_MM = 1e-4
RAS = np.diag([-1.0, -1.0, 1.0, 1.0])


def rotation(degrees, axis):
    axis = np.array(axis) / np.linalg.norm(axis)
    a = np.radians(degrees)
    k = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    return np.eye(3) + np.sin(a) * k + (1 - np.cos(a)) * k @ k


class Grid:
    """Size, spacing, origin and direction (LPS, mm)."""

    def __init__(self, size, spacing, origin, direction):
        self.size, self.spacing, self.origin, self.direction = map(np.array, (size, spacing, origin, direction))

    def affine(self):
        """mm (LPS) from voxel indices."""
        m = np.eye(4)
        m[:3, :3] = self.direction * self.spacing
        m[:3, 3] = self.origin
        return m

    def write(self, path):
        import nibabel
        image = nibabel.Nifti1Image(np.zeros(self.size, np.float32), RAS @ self.affine())
        image.header.set_qform(RAS @ self.affine(), 1)
        image.header.set_sform(RAS @ self.affine(), 1)
        nibabel.save(image, path)


flipped = np.diag([-1.0, 1.0, 1.0])
FIXED = Grid([17, 15, 13], [2.0, 2.4, 3.1], [-20.0, 13.0, 41.0], rotation(17, [1, 2, 3]))
# its voxels have the other handedness, which FSL's coordinates depend on
MOVING = Grid([19, 16, 14], [1.9, 2.3, 2.9], [17.0, 11.0, 30.0], rotation(-23, [3, -1, 2]) @ flipped)


def apply(matrix, points):
    return points @ matrix[:3, :3].T + matrix[:3, 3]


def affine_map():
    """T from fixed to moving, LPS: about the middles of both images."""
    matrix = rotation(12, [1, -1, 2]) @ np.diag([1.05, 0.97, 1.02])
    middle = apply(FIXED.affine(), (FIXED.size - 1) / 2)
    other = apply(MOVING.affine(), (MOVING.size - 1) / 2)
    m = np.eye(4)
    m[:3, :3] = matrix
    m[:3, 3] = other + [1.5, -2.0, 0.7] - matrix @ middle
    return m


def text(values):
    return " ".join(repr(float(v)) for v in np.ravel(values))


def parameter_file(path, lines, initial="NoInitialTransform"):
    with open(path, "w") as file:
        file.write("\n".join(f"({line})" for line in lines + [
            f'InitialTransformParametersFileName "{initial}"', 'HowToCombineTransforms "Compose"',
            "FixedImageDimension 3", "MovingImageDimension 3", "Size " + " ".join(map(str, FIXED.size)), "Index 0 0 0",
            "Spacing " + text(FIXED.spacing), "Origin " + text(FIXED.origin), "Direction " + text(FIXED.direction.T),
            'UseDirectionCosines "true"', 'ResampleInterpolator "FinalLinearInterpolator"', 'Resampler "DefaultResampler"',
            'ResultImageFormat "nii.gz"', 'ResultImagePixelType "float"']) + "\n")


def write_inputs():
    FIXED.write("fixed.nii.gz")
    MOVING.write("moving.nii.gz")
    m = affine_map()
    parameter_file("affine.txt", ['Transform "AffineTransform"', "NumberOfParameters 12",
                                  "TransformParameters " + text(m[:3, :3]) + " " + text(m[:3, 3]), "CenterOfRotationPoint 0 0 0"])
    spacing = np.array([14.0, 15.0, 16.0])
    size = np.array([12, 12, 12])
    middle = apply(m, apply(FIXED.affine(), (FIXED.size - 1) / 2))
    origin = middle - spacing * (size - 1) / 2
    coefficients = 1.5 * np.sin(np.arange(3 * size.prod()) * 1.7)
    parameter_file("spline.txt", ['Transform "BSplineTransform"', f"NumberOfParameters {coefficients.size}",
                                  "TransformParameters " + text(coefficients), "GridSize " + " ".join(map(str, size)),
                                  "GridIndex 0 0 0", "GridSpacing " + text(spacing), "GridOrigin " + text(origin),
                                  "GridDirection 1 0 0 0 1 0 0 0 1", "BSplineTransformSplineOrder 3",
                                  'UseCyclicTransform "false"'], "affine.txt")


def tessera(*arguments):
    os.makedirs("log", exist_ok=True)
    result = subprocess.run(["tessera-transform", *arguments, "-out", "log"], capture_output=True, text=True, check=False)
    if result.returncode != 0:
        sys.exit(f"tessera-transform {' '.join(arguments)}: {result.stderr}")


def mapped(points, *arguments):
    """The points (LPS) as tessera-transform maps them."""
    with open("points.vtk", "w") as file:
        file.write(f"# vtk DataFile Version 2.0\npoints\nASCII\nDATASET POLYDATA\nPOINTS {len(points)} double\n")
        file.writelines(text(p) + "\n" for p in points)
    tessera(*arguments, "-def", "points.vtk")
    with open("log/outputpoints.vtk") as file:
        lines = file.read().split("POINTS")[1].split("\n", 1)
    numbers = [float(w) for w in lines[1].split()[: 3 * len(points)]]
    return np.reshape(numbers, (-1, 3))


def voxels(grid, margin=2):
    """Points (LPS) of voxels, and their indices."""
    axes = [np.arange(margin, n - margin, 2) for n in grid.size]
    index = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, 3)
    return apply(grid.affine(), index), index


def inside_moving(points):
    index = apply(np.linalg.inv(MOVING.affine()), points)
    return np.all(index >= 1, axis=1) & np.all(index <= MOVING.size - 2, axis=1)


def agree(what, found, expected):
    worst = np.abs(np.asarray(found) - expected).max()
    print(f"{what}: largest difference {worst:.3g} mm, allowed {WITHIN_MM}")
    if not worst <= WITHIN_MM:
        sys.exit(f"FAILS: {what}")


def sitk():
    import SimpleITK as itk
    points, _ = voxels(FIXED)
    through = lambda transform: np.array([transform.TransformPoint(list(map(float, p))) for p in points])
    for name, chain in (("affine", "affine.txt"), ("spline", "spline.txt")):
        expected = mapped(points, "-tp", chain)
        for ending in ("h5", "tfm"):
            tessera("-tp", chain, "--write", f"{name}.{ending}")
            agree(f"SimpleITK reads {name}.{ending}", through(itk.ReadTransform(f"{name}.{ending}")), expected)
        tessera("-tp", chain, "--write", f"{name}.nii.gz")
        field = itk.DisplacementFieldTransform(itk.ReadImage(f"{name}.nii.gz", itk.sitkVectorFloat64))
        agree(f"SimpleITK reads the field {name}.nii.gz", through(field), expected)
        composite = itk.CompositeTransform([field])
        composite.AddTransform(itk.AffineTransform(np.diag([1.1, 1, 1]).ravel().tolist(), [1, 2, 3]))
        itk.WriteTransform(composite, f"composite_{name}.h5")
        agree(f"Tessera reads SimpleITK's composite of a field and an affine transform ({name})",
              mapped(points, "-tp", f"composite_{name}.h5", "--grid", "fixed.nii.gz"), through(composite))
        agree(f"Tessera reads the field {name}.nii.gz", mapped(points, "-tp", f"{name}.nii.gz"), expected)
    inverse_points, _ = voxels(MOVING, 5)
    tessera("-tp", "spline.txt", "--inverse", "--grid", "moving.nii.gz", "--write", "inverse.h5")
    back = itk.ReadTransform("inverse.h5")
    agree("SimpleITK reads the inverse as a field",
          np.array([back.TransformPoint(list(map(float, p))) for p in inverse_points]),
          mapped(inverse_points, "-tp", "spline.txt", "--inverse"))


def ants():
    import ants as a
    import pandas
    points, _ = voxels(FIXED)

    def through(points, files, invert=None):
        frame = pandas.DataFrame(points, columns=["x", "y", "z"])
        return a.apply_transforms_to_points(3, frame, files, whichtoinvert=invert)[["x", "y", "z"]].to_numpy()

    tessera("-tp", "affine.txt", "--format", "ants", "--write", "lin_")
    agree("ANTs reads lin_0GenericAffine.mat", through(points, ["lin_0GenericAffine.mat"]), mapped(points, "-tp", "affine.txt"))
    tessera("-tp", "spline.txt", "--format", "ants", "--write", "def_")
    agree("ANTs reads def_1Warp.nii.gz and def_0GenericAffine.mat",
          through(points, ["def_1Warp.nii.gz", "def_0GenericAffine.mat"]), mapped(points, "-tp", "spline.txt"))
    # places whose images under the affine part are voxels of the fixed grid
    m = affine_map()
    inner, _ = voxels(FIXED, 5)
    images = apply(m, inner)
    agree("ANTs reads def_1InverseWarp.nii.gz",
          through(images, ["def_0GenericAffine.mat", "def_1InverseWarp.nii.gz"], [True, False]),
          mapped(images, "-tp", "spline.txt", "--inverse"))
    # an image, so that order and direction are those of antsApplyTransforms
    rng = np.random.default_rng(1)
    image = a.image_read("moving.nii.gz")
    image = image.new_image_like(rng.random(image.shape).astype("float32"))
    a.image_write(image, "noise.nii.gz")
    fixed = a.image_read("fixed.nii.gz")
    theirs = a.apply_transforms(fixed, image, ["def_1Warp.nii.gz", "def_0GenericAffine.mat"], interpolator="linear").numpy()
    tessera("-tp", "spline.txt", "-in", "noise.nii.gz")
    ours = a.image_read("log/result.nii.gz").numpy()
    points, index = voxels(FIXED)
    seen = tuple(index[inside_moving(mapped(points, "-tp", "spline.txt"))].T)
    agree(f"antsApplyTransforms resamples as Tessera does (intensities of {len(seen[0])} voxels)", theirs[seen], ours[seen])
    # what ANTs writes
    affine = a.create_ants_transform(transform_type="AffineTransform", dimension=3, matrix=m[:3, :3], translation=m[:3, 3],
                                     center=[5.0, -3.0, 11.0])
    for precision in ("double", "float"):
        if precision == "float":
            affine = a.create_ants_transform(transform_type="AffineTransform", dimension=3, precision="float", matrix=m[:3, :3],
                                             translation=m[:3, 3], center=[5.0, -3.0, 11.0])
        a.write_transform(affine, f"{precision}.mat")
        agree(f"Tessera reads {precision}.mat of ANTs", mapped(points, "-tp", f"{precision}.mat", "--grid", "fixed.nii.gz"),
              np.array([affine.apply_to_point(list(p)) for p in points]))
    agree("Tessera reads 1Warp and 0GenericAffine of ANTs",
          mapped(points, "-tp", "def_1Warp.nii.gz", "-tp", "def_0GenericAffine.mat"),
          through(points, ["def_1Warp.nii.gz", "def_0GenericAffine.mat"]))


def nitransforms():
    import nibabel
    from nitransforms.linear import load as load_linear
    from nitransforms.manip import load as load_chain
    from nitransforms.nonlinear import DenseFieldTransform
    points, index = voxels(FIXED)
    ras = points * [-1, -1, 1]
    expected = mapped(points, "-tp", "affine.txt") * [-1, -1, 1]
    tessera("-tp", "affine.txt", "--write", "affine.lta", "--moving", "moving.nii.gz")
    lta = load_linear("affine.lta", fmt="fs", reference="fixed.nii.gz", moving="moving.nii.gz")
    agree("nitransforms reads affine.lta", lta.map(ras), expected)
    tessera("-tp", "affine.txt", "--format", "fsl", "--write", "flirt.mat", "--moving", "moving.nii.gz")
    flirt = load_linear("flirt.mat", fmt="fsl", reference="fixed.nii.gz", moving="moving.nii.gz")
    agree("nitransforms reads flirt.mat", flirt.map(ras), expected)
    agree("Tessera reads affine.lta", mapped(points, "-tp", "affine.lta", "--grid", "fixed.nii.gz") * [-1, -1, 1], expected)
    tessera("-tp", "spline.txt", "--write", "field.nii.gz")
    from nitransforms.io.itk import ITKDisplacementsField
    field = DenseFieldTransform(ITKDisplacementsField.from_filename("field.nii.gz"))
    agree("nitransforms reads field.nii.gz", field.map(ras), mapped(points, "-tp", "spline.txt") * [-1, -1, 1])


def fsl():
    from fsl.data.image import Image
    from fsl.transform import affine, flirt, fnirt, nonlinear
    fixed, moving = Image("fixed.nii.gz"), Image("moving.nii.gz")
    points, index = voxels(FIXED)
    tessera("-tp", "affine.txt", "--format", "fsl", "--write", "flirt.mat", "--moving", "moving.nii.gz")
    world = flirt.fromFlirt(flirt.readFlirt("flirt.mat"), moving, fixed, from_="world", to="world")
    expected = mapped(points, "-tp", "affine.txt")
    agree("fslpy reads flirt.mat", affine.transform(points * [-1, -1, 1], np.linalg.inv(world)), expected * [-1, -1, 1])
    flirt.writeFlirt(flirt.toFlirt(world, moving, fixed, "world", "world"), "theirs.mat")
    agree("Tessera reads flirt's matrix",
          mapped(points, "-tp", "theirs.mat", "--tp-format", "fsl", "--grid", "fixed.nii.gz", "--moving", "moving.nii.gz"), expected)
    tessera("-tp", "spline.txt", "--format", "fsl", "--write", "warp.nii.gz", "--moving", "moving.nii.gz")
    field = fnirt.readFnirt("warp.nii.gz", moving, fixed)
    found = field.transform(points * [-1, -1, 1], from_="world", to="world")
    agree("fslpy reads warp.nii.gz", found, mapped(points, "-tp", "spline.txt") * [-1, -1, 1])
    theirs = fnirt.toFnirt(fnirt.fromFnirt(field, "world", "world"))
    theirs.header["intent_code"] = 2006
    theirs.save("theirs.nii.gz")
    agree("Tessera reads fslpy's field", mapped(points, "-tp", "theirs.nii.gz", "--tp-format", "fsl", "--moving", "moving.nii.gz"),
          found * [-1, -1, 1])
    Image(nonlinear.convertDeformationType(field, "absolute"), header=field.header).save("absolute.nii.gz")
    refused = subprocess.run(["tessera-transform", "-tp", "absolute.nii.gz", "--tp-format", "fsl", "--moving", "moving.nii.gz", "-def", "all",
                              "-out", "log"], capture_output=True, text=True, check=False)
    if refused.returncode != 3 or "absolute.nii.gz: its vectors are places (absolute)" not in refused.stderr:
        sys.exit(f"FAILS: an absolute field is not refused: {refused.stderr}")


def greedy():
    import nibabel
    from picsl_greedy import Greedy3D
    # moving images whose intensities are coordinates, so that a resampled image tells where its voxels came from
    index = np.stack(np.meshgrid(*[np.arange(n) for n in MOVING.size], indexing="ij"), -1)
    moving = apply(MOVING.affine(), index.reshape(-1, 3)).reshape(index.shape)
    for axis in range(3):
        nibabel.save(nibabel.Nifti1Image(moving[..., axis].astype(np.float32), RAS @ MOVING.affine()), f"ramp{axis}.nii.gz")
    points, index = voxels(FIXED, 4)

    def through(chain):
        found = []
        for axis in range(3):
            # greedy reads with single precision, as its program does
            Greedy3D().execute(f"-rf fixed.nii.gz -rm ramp{axis}.nii.gz out{axis}.nii.gz -ri LINEAR -r {chain}")
            found.append(nibabel.load(f"out{axis}.nii.gz").get_fdata()[tuple(index.T)])
        return np.stack(found, -1)

    for name, path in (("affine.txt", "greedy.mat"), ("spline.txt", "greedy.nii.gz")):
        tessera("-tp", name, "--format", "greedy", "--write", path)
        expected = mapped(points, "-tp", name)
        seen = inside_moving(expected)
        if seen.sum() < 20:
            sys.exit("FAILS: too few voxels to compare")
        agree(f"greedy reads {path} ({seen.sum()} voxels)", through(path)[seen], expected[seen])
    agree("Tessera reads greedy.mat", mapped(points, "-tp", "greedy.mat", "--tp-format", "greedy", "--grid", "fixed.nii.gz"),
          mapped(points, "-tp", "affine.txt"))


def niftyreg():
    """Without NiftyReg: the files by NiftyReg's definitions, read with nibabel."""
    import nibabel
    points, index = voxels(FIXED)
    tessera("-tp", "affine.txt", "--format", "niftyreg", "--write", "reg_aladin.txt")
    agree("reg_aladin.txt maps RAS from the reference to the floating image",
          apply(np.loadtxt("reg_aladin.txt"), points * [-1, -1, 1]) * [-1, -1, 1], mapped(points, "-tp", "affine.txt"))
    tessera("-tp", "spline.txt", "--format", "niftyreg", "--write", "cpp.nii.gz")
    image = nibabel.load("cpp.nii.gz")
    header = image.header
    if image.shape != (*FIXED.size, 1, 3) or header["intent_code"] != 1007 or header["intent_name"] != b"NREG_TRANS" or header["intent_p1"] != 0:
        sys.exit(f"FAILS: no field of NiftyReg: {image.shape} {header['intent_name']}")
    agree("positions of cpp.nii.gz", image.get_fdata()[tuple(index.T)][:, 0] * [-1, -1, 1], mapped(points, "-tp", "spline.txt"))
    ways = image.get_fdata() - image.affine[:3, 3] - np.moveaxis(np.indices(FIXED.size), 0, -1)[..., None, :] @ image.affine[:3, :3].T
    displacements = nibabel.Nifti1Image(ways.astype(np.float32), image.affine, header)
    displacements.header["intent_p1"] = 1
    nibabel.save(displacements, "displacements.nii.gz")
    for name in ("cpp.nii.gz", "displacements.nii.gz"):
        agree(f"Tessera reads {name}", mapped(points, "-tp", name), mapped(points, "-tp", "spline.txt"))
    agree("Tessera reads reg_aladin.txt", mapped(points, "-tp", "reg_aladin.txt", "--tp-format", "niftyreg", "--grid", "fixed.nii.gz"),
          mapped(points, "-tp", "affine.txt"))


NEEDS = {"sitk": "SimpleITK", "ants": "ants", "nitransforms": "nitransforms", "fsl": "fsl.transform.fnirt",
         "greedy": "picsl_greedy", "niftyreg": "nibabel"}

if __name__ == "__main__":
    package, folder = sys.argv[1:3]
    for module in ("nibabel", NEEDS[package]):
        try:
            importlib.import_module(module)
        except ImportError as error:
            print(f"skipped: {error}")
            sys.exit(77)
    os.makedirs(folder, exist_ok=True)
    os.chdir(folder)
    write_inputs()
    globals()[package]()
