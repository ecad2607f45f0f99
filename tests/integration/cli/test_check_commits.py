"""`adacoder check --changed` reads commits as git stores them, and runs no program of the repository."""

from __future__ import annotations

import pytest

from support.commandline import Desk
from support.repository import commit, git
from support.shop import BROKEN, SHOP, checked, edited, replaced

pytestmark = pytest.mark.isolation


@pytest.fixture
def shop(desk: Desk) -> Desk:
    """A workspace whose file `shop.py` is committed."""
    desk.write(SHOP, "shop.py")
    commit(desk.folder)
    return desk


def test_only_the_base_shows_a_change_that_was_committed(shop: Desk) -> None:
    first = git(shop.folder, "rev-parse", "HEAD").strip()
    edited(shop, BROKEN, *replaced(""))
    commit(shop.folder, "Second")
    assert shop.run("check", "--changed").code == 0
    ran = shop.run("check", "--changed", "--base", first, "--keep-examples")
    assert ran.code == 1
    assert f"Since {first}: 2 examples removed." in ran.out


def test_the_base_is_the_common_commit(shop: Desk) -> None:
    git(shop.folder, "branch", "other")
    edited(shop, ("'one'", "'ones'"), ('"one"', '"ones"'))
    commit(shop.folder, "Here")
    git(shop.folder, "checkout", "--quiet", "other")
    edited(shop, ("sum(values)", "sum(values, 0)"))
    commit(shop.folder, "There")
    assert "total" in checked(shop, "--base", "master")
    assert "named" not in checked(shop, "--base", "master")


def test_a_whole_id_is_the_base_even_if_head_moved_before_it(shop: Desk) -> None:
    edited(shop, ("    >>> total([4])\n", "    >>> total([5])\n    5\n    >>> total([4])\n"))
    last = commit(shop.folder, "Second")
    git(shop.folder, "tag", "last")
    git(shop.folder, "reset", "--soft", "HEAD~1")
    edited(shop, ("    >>> total([5])\n    5\n    >>> total([4])\n", "    >>> total([4])\n"))
    assert "total" in checked(shop, "--base", last)
    assert "total" not in checked(shop, "--base", "last")


def test_a_long_file_that_is_the_same_is_not_a_change(shop: Desk) -> None:
    shop.write("#" * 1_000_001, "long.py")
    commit(shop.folder, "Second")
    assert shop.run("check", "--changed").code == 0
    shop.write("#" * 1_000_002, "long.py")
    assert "long.py has more than 1,000,000" in shop.run("check", "--changed").err


@pytest.mark.parametrize("option", ["--assume-unchanged", "--skip-worktree"])
def test_the_index_does_not_hide_a_change(shop: Desk, option: str) -> None:
    git(shop.folder, "update-index", option, "shop.py")
    edited(shop, BROKEN)
    assert shop.run("check", "--changed").code == 1


def test_ignored_files_and_a_staged_text_that_differs_count(shop: Desk) -> None:
    shop.write("new.py\n", ".gitignore")
    shop.write('def f():\n    """F.\n\n    >>> f()\n    1\n    """\n    return 2\n', "new.py")
    assert shop.run("check", "--changed").code == 1
    (shop.folder / "new.py").unlink()
    edited(shop, BROKEN)
    git(shop.folder, "add", "--all")
    assert shop.run("check", "--changed").code == 1
    shop.write(SHOP, "shop.py")
    assert shop.run("check", "--changed").code == 0


def test_the_configuration_of_the_repository_runs_nothing_and_moves_nothing(
    shop: Desk, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path_factory.mktemp("other")
    (other / "shop.py").write_text(SHOP, "utf-8")
    proof = other / "ran"
    program = other / "program"
    program.write_text(f"#!/bin/sh\ntouch {proof}\ncat\n", "utf-8")
    program.chmod(0o755)
    shop.write("*.py filter=x diff=x\n", ".gitattributes")
    for name in (
        "core.fsmonitor",
        "diff.external",
        "filter.x.clean",
        "filter.x.smudge",
        "diff.x.textconv",
        "core.pager",
    ):
        git(shop.folder, "config", name, str(program))
    git(shop.folder, "config", "core.worktree", str(other))
    monkeypatch.setenv("GIT_DIR", str(other))
    edited(shop, BROKEN)
    assert shop.run("check", "--changed").code == 1
    assert not proof.exists()


def test_a_replaced_commit_does_not_count(shop: Desk) -> None:
    first = git(shop.folder, "rev-parse", "HEAD").strip()
    edited(shop, BROKEN, *replaced(""))
    second = commit(shop.folder, "Second")
    git(shop.folder, "replace", first, second)
    (shop.folder / ".git/info/grafts").write_text(f"{first} {second}\n", "utf-8")
    assert shop.run("check", "--changed", "--base", first, "--keep-examples").code == 1


def test_a_forged_object_is_refused(shop: Desk) -> None:
    edited(shop, BROKEN)
    forged = git(shop.folder, "hash-object", "-w", "shop.py").strip()
    real = git(shop.folder, "rev-parse", "HEAD:shop.py").strip()
    paths = [shop.folder / ".git/objects" / each[:2] / each[2:] for each in (real, forged)]
    paths[0].chmod(0o644)
    paths[0].write_bytes(paths[1].read_bytes())
    edited(shop, ("+ 1", "+ 2"))
    ran = shop.run("check", "--changed")
    assert ran.code == 2
    assert "git lacks shop.py of HEAD: fetch it, or repair the repository." in ran.err


@pytest.mark.parametrize("ref", ["refs/tags/good", "refs/remotes/good"])
def test_a_name_for_two_commits_is_refused(shop: Desk, ref: str) -> None:
    git(shop.folder, "branch", "good")
    assert shop.run("check", "--changed", "--base", "good").code == 0
    edited(shop, BROKEN)
    commit(shop.folder, "Second")
    git(shop.folder, "update-ref", ref, "HEAD")
    ran = shop.run("check", "--changed", "--base", "good")
    assert ran.code == 2
    assert "'good' may mean two commits: name the commit by its whole id." in ran.err


def test_a_name_for_one_commit_is_accepted(shop: Desk) -> None:
    first = git(shop.folder, "rev-parse", "HEAD").strip()
    git(shop.folder, "branch", "release")
    git(shop.folder, "tag", "release/1.0")
    git(shop.folder, "branch", "cafe")
    git(shop.folder, "branch", first[:8])
    edited(shop, BROKEN)
    commit(shop.folder, "Second")
    for name in ("release", "cafe", first[:8]):
        assert shop.run("check", "--changed", "--base", name).code == 1
    git(shop.folder, "branch", "--force", first[:8])
    assert shop.run("check", "--changed", "--base", first[:8]).code == 2


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--base", "nope"], "git finds no commit 'nope' in "),
        (["--base", "--output=x"], "'--output=x' is neither a file nor the name of a commit."),
        (["--base", "orphan"], "'orphan' and HEAD have no common commit"),
    ],
)
def test_a_base_that_cannot_be_compared_is_an_error(shop: Desk, options: list[str], told: str) -> None:
    git(shop.folder, "branch", "home")
    git(shop.folder, "checkout", "--quiet", "--orphan", "orphan")
    commit(shop.folder, "Alone")
    git(shop.folder, "checkout", "--quiet", "home")
    ran = shop.run("check", "--changed", *options)
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err


def test_without_a_commit_everything_is_new_and_without_a_repository_nothing_can_be_compared(desk: Desk) -> None:
    desk.write(SHOP, "shop.py")
    ran = desk.run("check", "--changed")
    assert (ran.code, ran.err.count("is in no git repository")) == (2, 1)
    git(desk.folder, "init", "--quiet")
    assert desk.run("check", "--changed").code == 0
    assert set(checked(desk).values()) == {"new"}
    edited(desk, BROKEN)
    assert desk.run("check", "--changed").code == 1
    commit(desk.folder)
    (desk.folder / ".git/HEAD").write_text("ref: refs/heads/nope\n", "utf-8")
    ran = desk.run("check", "--changed")
    assert (ran.code, ran.err.count("commit first")) == (2, 1)
    assert desk.run("check", "--base", "HEAD").code == 2


def test_subfolders_links_and_sha256_are_understood(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.write(SHOP, "sub/shop.py")
    git(desk.folder, "init", "--quiet", "--object-format=sha256")
    commit(desk.folder)
    link = desk.folder.parent / f"{desk.folder.name}-link"
    link.symlink_to(desk.folder)
    monkeypatch.chdir(link / "sub")
    assert desk.run("check", "--changed", link / "sub").code == 0
    edited(desk, BROKEN, name="sub/shop.py")
    assert desk.run("check", "--changed", ".").code == 1
    assert desk.run("check", "--changed", link / "sub").code == 1
    assert desk.run("check", "--changed", link / "sub/shop.py").code == 1
    (desk.folder / "sub/shop.py").unlink()
    for place in (".", link, link / "sub", desk.folder):
        assert "total was removed with its file and 2 examples." in desk.run("check", "--changed", place).err


@pytest.mark.parametrize(
    ("options", "base", "told"),
    [
        (["--depth=1"], [], ""),
        (["--depth=1"], ["--base", "HEAD~1"], "git finds no commit 'HEAD~1'"),
        (["--filter=blob:none"], [], ""),
        (["--filter=blob:none", "--sparse"], [], ""),
        (["--filter=blob:none"], ["--base", "HEAD~1"], "git lacks shop.py of HEAD~1: fetch it"),
        (["--filter=tree:0", "--no-checkout"], [], "git cannot list the files of HEAD"),
    ],
    ids=["shallow", "before a shallow clone", "partial", "sparse", "before a partial clone", "without trees"],
)
def test_in_a_clone_with_few_objects_only_what_is_there_is_compared(
    shop: Desk, options: list[str], base: list[str], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    edited(shop, ("return sum(values)", "return 0 + sum(values)"))
    shop.write(f"{SHOP}# More\n", "more/shop.py")
    commit(shop.folder, "Second")
    git(shop.folder, "config", "uploadpack.allowFilter", "true")
    git(shop.folder, "clone", "--quiet", *options, shop.folder.as_uri(), "clone")
    monkeypatch.chdir(shop.folder / "clone")
    if "--no-checkout" not in options:
        edited(shop, ("return 0 + sum(values)", "return 1 + sum(values)"), name="clone/shop.py")
    ran = shop.run("check", "--changed", *base)
    assert told in ran.err
    assert ran.code == (2 if told else 1)
    assert ("Failed: 4 of 4 docstrings" in ran.out) == (not told)
    assert ("Skipped 1 file that git has not checked out." in ran.err) == ("--sparse" in options)


def test_an_index_does_not_hide_a_removed_file(shop: Desk) -> None:
    """A file that the index marks as skipped counts as removed, unless the checkout is sparse."""
    (shop.folder / "shop.py").unlink()
    git(shop.folder, "update-index", "--skip-worktree", "shop.py")
    assert "total was removed with its file and 2 examples." in shop.run("check", "--changed").err


def test_a_submodule_is_a_repository_of_its_own(shop: Desk) -> None:
    shop.write(SHOP, "lib/shop.py")
    commit(shop.folder / "lib")
    commit(shop.folder, "Second")
    edited(shop, BROKEN, name="lib/shop.py")
    ran = shop.run("check", "--changed")
    assert ran.code == 0
    assert "lib: Skipped, because a submodule is a repository of its own: name it to check it." in ran.err
    assert shop.run("check", "--changed", "lib").code == 1
