# Not run. Builds the sdist of `nox -s release` with Nix: nix-build packaging
{
  pkgs ? import <nixpkgs> { },
}:
pkgs.python3Packages.buildPythonApplication rec {
  pname = "adacoder";
  version = "0.1.0";
  pyproject = true;
  src = ../dist + "/adacoder-${version}.tar.gz";
  build-system = [ pkgs.python3Packages.hatchling ];
  dependencies = with pkgs.python3Packages; [
    cattrs
    click
    httpx
    jedi
    lsprotocol
    ollama
    parso
    pyflakes
    pygls
    rich
  ];
}
