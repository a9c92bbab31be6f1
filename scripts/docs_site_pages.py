"""What mkdocs asks for while it builds the site (mkdocs.yml, `hooks`).

Pages link to files of the repository outside docs/. Their Markdown files, and READMEs of folders, become pages below repository/; in those, and
for files that are no Markdown, a link to a file that is no page becomes the path in code type, for the site has no repository to lead to. A link
whose target does not exist is a warning, and so an error of a strict build.

Information after a fence's language (```sh not-run: REASON, ```yaml NAME) is for tests and readers of the source: a file's name becomes the title.
"""

import logging
import os
import pathlib
import re

from mkdocs.structure.files import File

REPOSITORY = pathlib.Path(__file__).resolve().parents[1]
DOCS = REPOSITORY / "docs"
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
PICTURES = {".svg", ".png"}
FENCE = re.compile(r"^```([a-z]+) +([^\n]+)$", re.MULTILINE)
FENCED = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
log = logging.getLogger("mkdocs.plugins.sluice")


def source(page):
    """The file of the repository that a page of the site is made of."""
    return REPOSITORY / page.removeprefix("repository/") if page.startswith("repository/") else DOCS / page


def page_of(path):
    """The site's file for a file or folder of the repository, such as repository/sim/README.md; None where it has none."""
    if path.is_dir():
        path = path / "README.md"
    if not path.is_file() or REPOSITORY not in path.parents:
        return None
    if DOCS in path.parents:
        return path.relative_to(DOCS).as_posix()
    return "repository/" + path.relative_to(REPOSITORY).as_posix() if path.suffix in {".md", *PICTURES} else None


def target_of(path, link):
    """The file that a relative link of a source file names, and its anchor; None for the web and for anchors of the page itself."""
    name, _, anchor = link.partition("#")
    if not name or re.match(r"[a-z]+:", name):
        return None
    return pathlib.Path(os.path.normpath(path.parent / name)), anchor


def on_files(files, config):
    """Adds Markdown files of the repository that pages of docs/ link to, and all pictures."""

    def add_linked(pages, suffixes):
        for page in pages:
            for _, _, link in LINK.findall(FENCED.sub("", source(page).read_text())):
                target = target_of(source(page), link)
                name = target and page_of(target[0])
                if name and pathlib.PurePosixPath(name).suffix in suffixes and files.get_file_from_path(name) is None:
                    files.append(File.generated(config, name, abs_src_path=str(source(name))))

    add_linked([file.src_uri for file in files.documentation_pages()], {".md"})
    add_linked([file.src_uri for file in files.documentation_pages()], PICTURES)
    return files


def on_page_markdown(markdown, page, config, files):
    path, here = source(page.file.src_uri), pathlib.PurePosixPath(page.file.src_uri).parent

    def led(match):
        picture, words, link = match.groups()
        target = target_of(path, link)
        if target is None:
            return match.group()
        file, anchor = target
        if not file.exists():
            log.warning("%s: the link to %s leads nowhere", page.file.src_uri, link)
            return match.group()
        name = page_of(file)
        if name and files.get_file_from_path(name):
            return f"{picture}[{words}]({os.path.relpath(name, here)}{'#' * bool(anchor)}{anchor})"
        return f"{words} (`{file.relative_to(REPOSITORY)}`)"

    def titled(match):
        language, information = match.groups()
        return f'```{language} title="{information}"' if re.fullmatch(r"[\w.]+", information) else f"```{language}"

    parts = FENCED.split(markdown)
    return "".join(FENCE.sub(titled, part) if number % 2 else LINK.sub(led, part) for number, part in enumerate(parts))
