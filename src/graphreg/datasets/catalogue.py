"""The public data sets that there are loaders for: whose they are, on what terms, and how to get them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit


@dataclass(frozen=True)
class Archive:
    """A file to download.

    size      bytes, as others found it; to show, for what the server says counts
    checksum  such as "sha256:..." or "md5:..."; None where we know of none that somebody published
    """

    url: str
    size: int
    checksum: str | None = None

    @property
    def name(self) -> str:
        return PurePosixPath(urlsplit(self.url).path).name


@dataclass(frozen=True)
class Dataset:
    """A data set.

    name      of its folder, and for the command line
    archives  what to download; none where its owners want to be asked, or where no address is known
    size      to download, in words, where there are no archives
    layout    what goes into its folder
    sign      a pattern below the folder of all data sets: where a file is like it, the data set is there
    loader    how to load it
    """

    name: str
    title: str
    licence: str
    page: str
    layout: str
    sign: str
    loader: str
    archives: tuple[Archive, ...] = ()
    size: str = "unknown"

    @property
    def download_size(self) -> str:
        return _readable(sum(archive.size for archive in self.archives)) if self.archives else self.size

    def found(self, folder: Path) -> Path | None:
        """The folder that holds it, below the one of all data sets; None where it is not there."""
        for path in folder.glob(self.sign):
            return folder / path.relative_to(folder).parts[0]
        return None


def _readable(size: int) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.1f} MB"


STANFORD = "https://graphics.stanford.edu/pub/3Dscanrep"
STANFORD_PAGE = "https://graphics.stanford.edu/data/3Dscanrep/"
STANFORD_LICENCE = "research use with credit to the Stanford Computer Graphics Laboratory; no commercial use"
FRAGMENTS = "https://3dvision.princeton.edu/projects/2016/3DMatch/downloads/scene-fragments"
ETH_PAGE = "https://prs.igp.ethz.ch/research/completed_projects/automatic_registration_of_point_clouds.html"
ETH_LICENCE = "not stated where we looked; research use is what others make of it"

# Sizes and checksums are those that other public projects recorded: more than ten that of the bunny, two that of the
# kitchen, one that of the trees; the armadillo's is in the tests of Super4PCS. We know of none for the dragon.
DATASETS = {
    dataset.name: dataset
    for dataset in (
        Dataset(
            "stanford_bunny",
            "Stanford bunny: 10 range scans of a clay rabbit",
            STANFORD_LICENCE,
            STANFORD_PAGE,
            "bunny/data/bun.conf and the scans that it names",
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
            "dragon_stand/dragonStandRight.conf and the scans that it names",
            "stanford_dragon/**/*.ply",
            'stanford.scans("stanford_dragon")',
            (Archive(f"{STANFORD}/dragon/dragon_stand.tar.gz", 6_133_186),),
        ),
        Dataset(
            "stanford_armadillo",
            "Stanford armadillo: range scans of a toy in five positions, with an alignment each",
            STANFORD_LICENCE,
            STANFORD_PAGE,
            "Armadillo_scans/ArmadilloStand.conf, others, and the scans that they name",
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
            "7-scenes-redkitchen/cloud_bin_0.ply, ... and 7-scenes-redkitchen-evaluation/gt.log; other scenes likewise",
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
            "ETH terrestrial laser scans, scene facade, of the paper's Table IV; courtyard, arch and office likewise",
            ETH_LICENCE,
            ETH_PAGE,
            "s1.ply, ..., pairs.txt and groundtruth/s1-s2.tfm, ...",
            "eth_facade/**/s*.ply",
            'eth_tls.pairs("eth_facade")',
        ),
        Dataset(
            "kitti_odometry",
            "KITTI odometry: 22 drives with a velodyne, 11 of them with poses",
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
            "UWA: models of four toys (T-rex, parasaurolophus, chef, chicken) and 50 scenes that they stand in",
            "not stated where we looked; ask Ajmal Mian",
            "http://vision.deis.unibo.it/keypoints3d/?page_id=2 (there called laser scanner)",
            "T-rex_high.ply, ..., rs1.ply, ... and T-rex-rs1.xf, ..., in any folders",
            "uwa/**/*.ply",
            'uwa.pairs("uwa")',
        ),
    )
}
