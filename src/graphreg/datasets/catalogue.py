"""Catalogue of the public data sets that can be loaded: licence, download, layout."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit


@dataclass(frozen=True)
class Archive:
    """An archive to download.

    Parameters
    ----------
    url : str
    size : int
        In bytes, as recorded by other projects. It bounds what is downloaded.
    checksum : str, optional
        Such as "sha256:..." or "md5:..."; None if no published one is known.
    """

    url: str
    size: int
    checksum: str | None = None

    @property
    def name(self) -> str:
        """The last part of the URL."""
        return PurePosixPath(urlsplit(self.url).path).name


@dataclass(frozen=True)
class Dataset:
    """A public data set.

    Parameters
    ----------
    name : str
        Of its folder, and on the command line.
    title, licence, page : str
        What it is, its terms, and the web page of its owners.
    layout : str
        The files of its folder.
    pattern : str
        Glob pattern below the folder of all data sets that matches if this one is there.
    loader : str
        The call that loads it.
    archives : tuple of Archive, default ()
        What to download; empty if its owners ask for registration, or if no URL is known.
    size : str, default "unknown"
        Of the download, if there are no archives.
    """

    name: str
    title: str
    licence: str
    page: str
    layout: str
    pattern: str
    loader: str
    archives: tuple[Archive, ...] = ()
    size: str = "unknown"

    @property
    def download_size(self) -> str:
        """Such as "4.9 MB"."""
        return _readable(sum(archive.size for archive in self.archives)) if self.archives else self.size

    def locate(self, folder: Path) -> Path | None:
        """Its folder below the folder of all data sets; None if it is not there."""
        for path in folder.glob(self.pattern):
            return folder / path.relative_to(folder).parts[0]
        return None


def _readable(size: int) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.1f} MB"


STANFORD = "https://graphics.stanford.edu/pub/3Dscanrep"
STANFORD_PAGE = "https://graphics.stanford.edu/data/3Dscanrep/"
STANFORD_LICENCE = "research use with credit to the Stanford Computer Graphics Laboratory; no commercial use"
FRAGMENTS = "https://3dvision.princeton.edu/projects/2016/3DMatch/downloads/scene-fragments"
ETH_PAGE = "https://prs.igp.ethz.ch/research/completed_projects/automatic_registration_of_point_clouds.html"
ETH_LICENCE = "not stated; others use it for research"

# Sizes and checksums are as recorded by other public projects: the bunny's by more than ten, the kitchen's by two, the
# trees' by one; the armadillo's is in the tests of Super4PCS. None is known for the dragon.
DATASETS = {
    dataset.name: dataset
    for dataset in (
        Dataset(
            "stanford_bunny",
            "Stanford bunny: 10 range scans of a clay rabbit",
            STANFORD_LICENCE,
            STANFORD_PAGE,
            "bunny/data/bun.conf and its scans",
            "stanford_bunny/**/*.ply",
            'stanford.scans("stanford_bunny")',
            (
                Archive(
                    f"{STANFORD}/bunny.tar.gz",
                    4_894_286,
                    "sha256:a5720bd96d158df403d153381b8411a727a1d73cff2f33dc9b212d6f75455b84",
                ),
            ),
        ),
        Dataset(
            "stanford_dragon",
            "Stanford dragon, standing: 15 range scans, 24 degrees apart",
            STANFORD_LICENCE,
            STANFORD_PAGE,
            "dragon_stand/dragonStandRight.conf and its scans",
            "stanford_dragon/**/*.ply",
            'stanford.scans("stanford_dragon")',
            (Archive(f"{STANFORD}/dragon/dragon_stand.tar.gz", 6_133_186),),
        ),
        Dataset(
            "stanford_armadillo",
            "Stanford armadillo: range scans of a toy in five orientations, each with an alignment",
            STANFORD_LICENCE,
            STANFORD_PAGE,
            "Armadillo_scans/ArmadilloStand.conf, others, and their scans",
            "stanford_armadillo/**/*.ply",
            'stanford.scans("stanford_armadillo", "ArmadilloStand")',
            (
                Archive(
                    f"{STANFORD}/armadillo/Armadillo_scans.tar.gz",
                    30_365_481,
                    "md5:437eafa8d3d07067e17a42c727a0c28d",
                ),
            ),
        ),
        Dataset(
            "3dmatch_redkitchen",
            "3DMatch, scene 7-scenes-redkitchen: 60 fragments of a kitchen",
            "no commercial use (it comes from Microsoft's 7-Scenes)",
            "https://3dmatch.cs.princeton.edu/",
            "7-scenes-redkitchen/cloud_bin_0.ply, ... and 7-scenes-redkitchen-evaluation/gt.log",
            "3dmatch*/**/cloud_bin_*.ply",
            'threedmatch.pairs("3dmatch_redkitchen")',
            (
                Archive(
                    f"{FRAGMENTS}/7-scenes-redkitchen.zip",
                    39_950_111,
                    "sha256:7cb9a1c9236e6833e910692b1d3f572b970c3fc3493e7641c28f1a45841fa51c",
                ),
                Archive(
                    f"{FRAGMENTS}/7-scenes-redkitchen-evaluation.zip",
                    140_319,
                    "sha256:ff3eaa243025a0cdf6dd1ca5364a726acf7c08b36444e49c685e1f014bc4f16e",
                ),
            ),
        ),
        Dataset(
            "eth_trees",
            "ETH terrestrial laser scans, scene trees: 6 scans of 20 million points in a forest",
            ETH_LICENCE,
            ETH_PAGE,
            "trees/s1.ply, ..., trees/pairs.txt and trees/groundtruth/s1-s2.tfm, ...",
            "eth_trees/**/s*.ply",
            'eth_tls.pairs("eth_trees")',
            (
                Archive(
                    "https://ethz.ch/content/dam/ethz/special-interest/baug/igp/photogrammetry-remote-sensing-dam/"
                    "documents/sourcecode-and-datasets/PascalTheiler/trees.zip",
                    1_282_864_958,
                    "sha256:ecb3f5e8791804341a3e7837c29f25789987c99fdf575aa3ebfbfd67d3acd37c",
                ),
            ),
        ),
        Dataset(
            "eth_facade",
            "ETH terrestrial laser scans, scene facade, of the paper's Table IV",
            ETH_LICENCE,
            ETH_PAGE,
            "s1.ply, ..., pairs.txt and groundtruth/s1-s2.tfm, ...",
            "eth_facade/**/s*.ply",
            'eth_tls.pairs("eth_facade")',
        ),
        Dataset(
            "kitti_odometry",
            "KITTI odometry: 22 sequences of a Velodyne LiDAR, 11 of them with poses",
            "CC BY-NC-SA 3.0",
            "https://www.cvlibs.net/datasets/kitti/eval_odometry.php (asks for an e-mail address)",
            "dataset/sequences/03/velodyne/000000.bin, ..., dataset/sequences/03/calib.txt and dataset/poses/03.txt, "
            "from data_odometry_velodyne.zip, data_odometry_calib.zip and data_odometry_poses.zip",
            "kitti*/**/*.bin",
            'kitti.scans("kitti_odometry/dataset", "03")',
            size="85 GB",
        ),
        Dataset(
            "whu_tls",
            "WHU-TLS: 115 terrestrial laser scans of 11 scenes, 1.7 billion points",
            "ask its owners",
            "https://github.com/WHU-USI3DV/WHU-TLS (asks to fill in a form)",
            "2-HighSpeedRailway/1-RawPointCloud/1.las, ... and 2-HighSpeedRailway/3-GroundTruth/2-1/transformation.txt",
            "whu_tls/**/1-RawPointCloud/*",
            'whu_tls.pairs("whu_tls", "2-HighSpeedRailway")',
        ),
        Dataset(
            "uwa",
            "UWA: models of four toys (T-rex, parasaurolophus, chef, chicken) and 50 scenes that contain them",
            "not stated; ask Ajmal Mian",
            "http://vision.deis.unibo.it/keypoints3d/?page_id=2 (listed as laser scanner)",
            "T-rex_high.ply, ..., rs1.ply, ... and T-rex-rs1.xf, ..., in any folders",
            "uwa/**/*.ply",
            'uwa.pairs("uwa")',
        ),
    )
}
