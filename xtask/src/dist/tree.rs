//! What is installed, laid out below a folder as below `/`.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result};

use super::{Release, control, emptied};
use crate::{cargo::root, process};

/// Each shell, and where Debian's looks for what packages bring.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "usr/share/bash-completion/completions/probe-cli"),
    ("zsh", "usr/share/zsh/vendor-completions/_probe-cli"),
    ("fish", "usr/share/fish/vendor_completions.d/probe-cli.fish"),
];

const DOCUMENTS: &str = "usr/share/doc/probe-cli";

/// Lays everything out below `folder`, in place of what was there.
pub(super) fn stage(program: &Path, release: &Release, folder: &Path) -> Result<PathBuf> {
    emptied(folder)?;
    let place = |below: &str| -> Result<PathBuf> {
        let path = folder.join(below);
        fs::create_dir_all(path.parent().context("below a folder")?)?;
        Ok(path)
    };

    let installed = place("usr/bin/probe-cli")?;
    fs::copy(program, &installed).with_context(|| format!("could not copy {}", program.display()))?;
    for (shell, path) in COMPLETIONS {
        let script = process::output(Command::new(&installed).args(["completions", shell]))?;
        fs::write(place(path)?, script)?;
    }

    let manual = folder.join("usr/share/man/man1");
    fs::create_dir_all(&manual)?;
    process::run(Command::new(&installed).args(["--quiet", "man"]).arg(&manual))?;
    for page in fs::read_dir(&manual)? {
        compress(&page?.path())?;
    }

    for file in ["README.md", "LICENSE-MIT", "LICENSE-APACHE"] {
        fs::copy(root().join(file), place(&format!("{DOCUMENTS}/{file}"))?)?;
    }
    let changes = place(&format!("{DOCUMENTS}/changelog"))?;
    fs::copy(root().join("CHANGELOG.md"), &changes)?;
    compress(&changes)?;
    fs::write(place(&format!("{DOCUMENTS}/copyright"))?, control::copyright()?)?;

    permit(folder)?;
    eprintln!("dist   {} laid out in {}", release.version, folder.display());
    Ok(folder.to_owned())
}

/// Without its name and time, so that the same text is the same file.
fn compress(file: &Path) -> Result<()> {
    process::run_quietly(Command::new("gzip").args(["--no-name", "--best", "--force"]).arg(file))
}

/// Whatever the umask: everybody may read, programs may be run, nobody else may write.
fn permit(folder: &Path) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let mode = if path.is_dir() || path.ends_with("usr/bin/probe-cli") { 0o755 } else { 0o644 };
        fs::set_permissions(&path, fs::Permissions::from_mode(mode))?;
        if path.is_dir() {
            permit(&path)?;
        }
    }
    Ok(())
}
