"""Align the first of two selected clouds with the second, in CloudCompare.

Needs the plug-in PythonRuntime, with graphreg installed in the Python that it uses. Select two clouds, open this file
in the plug-in's editor or its script launcher, and run it. The first cloud is moved; what happened is in the console.
"""

import numpy as np
import pycc

import graphreg


def align(source: pycc.ccPointCloud, target: pycc.ccPointCloud) -> graphreg.Result:
    """Move the source to the target, if they are registered."""
    x, y = (np.array(cloud.points(), np.float64) for cloud in (source, target))
    result = graphreg.register(x, y)
    if result.success:
        T = result.transformation
        moved = source.points()  # the memory of the cloud itself
        moved[:] = x @ T[:3, :3].T + T[:3, 3]
    return result


def main() -> None:
    window = pycc.GetInstance()
    clouds = [entity for entity in window.getSelectedEntities() if isinstance(entity, pycc.ccPointCloud)]
    if len(clouds) != 2:
        print(f"graphreg: select two clouds, the one to move first; {len(clouds)} are selected")
        return
    print(align(*clouds))
    window.updateUI()
    window.redrawAll()


if __name__ == "__main__":
    main()
