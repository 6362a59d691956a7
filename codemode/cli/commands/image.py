"""`codemode image`: keeps the guest image of this version, so that a later one can restore its runs."""

from __future__ import annotations

import argparse
import shutil
import tempfile
from pathlib import Path

from codemode.cli.errors import CommandError, ExitCode

DESCRIPTION = """\
A suspended run can only be restored by the guest image that it began in. `save` writes the
image of this version into a folder of its own in FOLDER; a later version restores runs of it
when CODEMODE_IMAGES names FOLDER. `list` shows the builds whose runs can be restored here."""
EXAMPLES = """\
  codemode image list
  codemode image save /srv/codemode/images
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("list", "save"))
    parser.add_argument("folder", metavar="FOLDER", nargs="?", help="for save: where images are kept")


def run(options: argparse.Namespace) -> int:
    from codemode_runtime.image import ImageUnavailable

    try:
        if options.action == "list":
            return _list()
        if options.folder is None:
            raise CommandError("say where: codemode image save FOLDER")
        return _save(Path(options.folder))
    except ImageUnavailable as error:
        raise CommandError(str(error), ExitCode.UNAVAILABLE) from None
    except OSError as error:
        raise CommandError(f"the image cannot be written: {error}") from None


def _list() -> int:
    from codemode_runtime.image import FOLDER, image_folders, load, other_images

    own = load().build_id
    print(f"{own}  {FOLDER} (this version)")
    for build_id, folder in other_images(image_folders(), own).items():
        print(f"{build_id}  {folder}")
    return ExitCode.DONE


def _save(folder: Path) -> int:
    """Whole or not at all: engines may look into the folder meanwhile."""
    from codemode_runtime.image import FOLDER, load

    build_id = load().build_id
    to = folder / build_id
    if to.exists():
        print(f"{to} is there already")
        return ExitCode.DONE
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".saving-") as scratch:
        made = Path(scratch) / build_id
        made.mkdir(mode=0o755)
        for name in ("guest.wasm", "manifest.json"):
            shutil.copyfile(FOLDER / name, made / name)
        made.rename(to)
    print(f"{to} has the image; a later version restores its runs with CODEMODE_IMAGES={folder.absolute()}")
    return ExitCode.DONE
