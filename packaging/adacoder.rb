# Not run. Installs the sdist of `nox -s release` with Homebrew: brew install --formula ./packaging/adacoder.rb
class Adacoder < Formula
  desc "Writes Python functions from their docstrings, and runs the examples first"
  url "file://#{File.expand_path("../dist/adacoder-0.1.0.tar.gz", __dir__)}"
  version "0.1.0"
  license "MIT"

  depends_on "python@3.13"

  on_linux do
    depends_on "bubblewrap" # isolation at the level full
  end

  def install
    system "python3.13", "-m", "venv", libexec
    system libexec/"bin/pip", "install", buildpath # also installs what pyproject.toml names
    bin.install_symlink libexec/"bin/adacoder"
  end

  test do
    system bin/"adacoder", "demo"
  end
end
