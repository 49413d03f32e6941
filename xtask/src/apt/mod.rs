//! Debian packages without touching the system: lists and downloads of our own, from the machine's own mirror.

mod sources;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, SystemTime},
};

use anyhow::{Context as _, Result, bail, ensure};
use nix::unistd::geteuid;

use crate::process::{self, limited, on_path};

const UPDATE_LIMIT: Duration = Duration::from_secs(90);
const DOWNLOAD_LIMIT: Duration = Duration::from_secs(300);
const INSTALL_LIMIT: Duration = Duration::from_secs(600);
/// Package lists younger than this are used as they are.
const FRESH: Duration = Duration::from_secs(24 * 60 * 60);

/// A suite, and which of Debian's archives has it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Suite {
    /// `trixie`, `trixie-backports`.
    Main(&'static str),
    /// `bookworm-security`.
    Security(&'static str),
}

/// A private set of package lists.
#[derive(Debug)]
pub(crate) struct Archive {
    folder: PathBuf,
}

impl Archive {
    /// Lays out `folder` for these suites. Fails, with the reason, on a machine that is not Debian.
    pub(crate) fn open(folder: &Path, suites: &[Suite]) -> Result<Self> {
        for program in ["apt-get", "apt-cache", "dpkg-deb"] {
            ensure!(on_path(program), "not a Debian machine: there is no {program}");
        }
        let os = fs::read_to_string("/etc/os-release").unwrap_or_default();
        let id = sources::os_release(&os, "ID").unwrap_or("unknown");
        ensure!(id == "debian", "not a Debian machine: /etc/os-release says ID={id}");
        let codename = sources::os_release(&os, "VERSION_CODENAME");
        let entries = sources::read(Path::new("/etc/apt")).context("could not read the files of /etc/apt")?;

        let mut list = String::new();
        for suite in suites {
            let (name, mirror) = match suite {
                Suite::Main(name) => (name, sources::main_archive(&entries, codename)),
                Suite::Security(name) => (name, sources::security_archive(&entries, codename)),
            };
            let mirror =
                mirror.with_context(|| format!("no file of /etc/apt names a Debian mirror for {name}"))?;
            list += &stanza(&mirror, name);
        }
        fs::create_dir_all(folder.join("lists/partial"))?;
        fs::create_dir_all(folder.join("cache/archives/partial"))?;
        let archive = Self { folder: folder.to_owned() };
        // Lists of other suites or of another mirror are not the lists asked for.
        if fs::read_to_string(archive.list()).is_ok_and(|old| old != list) {
            let _ = fs::remove_file(archive.stamp());
        }
        fs::write(archive.list(), list)?;
        fs::write(archive.configuration(), archive.settings())?;
        Ok(archive)
    }

    /// Brings the lists up to date, unless they were a short while ago.
    pub(crate) fn update(&self) -> Result<()> {
        let age = fs::metadata(self.stamp()).and_then(|stamp| stamp.modified()).ok();
        if age.and_then(|made| SystemTime::now().duration_since(made).ok()).is_some_and(|age| age < FRESH) {
            return Ok(());
        }
        process::run_quietly(self.apt(limited(UPDATE_LIMIT, "apt-get")).args([
            "-q",
            "-q",
            "update",
            "--error-on=any",
        ]))
        .context("the package lists could not be fetched")?;
        fs::write(self.stamp(), "")?;
        Ok(())
    }

    /// Whether there are lists at all, of whatever age.
    pub(crate) fn has_lists(&self) -> bool {
        fs::read_dir(self.folder.join("lists")).is_ok_and(|lists| {
            lists.flatten().any(|list| list.file_name().to_string_lossy().contains("_Packages"))
        })
    }

    /// The names of the packages that begin like this.
    pub(crate) fn names(&self, beginning: &str) -> Result<Vec<String>> {
        let names = process::output(self.apt(Command::new("apt-cache")).args(["pkgnames", beginning]))?;
        Ok(names.lines().map(str::to_owned).collect())
    }

    /// The versions of a package, newest first.
    pub(crate) fn versions(&self, package: &str) -> Result<Vec<String>> {
        let table = process::output(self.apt(Command::new("apt-cache")).args(["madison", package]))?;
        Ok(table.lines().filter_map(|row| row.split('|').nth(1)).map(|cell| cell.trim().to_owned()).collect())
    }

    /// The packages that this one depends on.
    pub(crate) fn dependencies(&self, package: &str) -> Result<Vec<String>> {
        let tree = process::output(self.apt(Command::new("apt-cache")).args(["depends", package]))?;
        Ok(tree
            .lines()
            .filter_map(|row| row.split_once("Depends: "))
            .map(|(_, name)| name.trim().to_owned())
            .collect())
    }

    /// Downloads a package (`name` or `name=version`) into the private folder; apt checks its signature chain.
    /// A download that was broken off goes on where it was.
    pub(crate) fn download(&self, package: &str) -> Result<PathBuf> {
        let folder = self.folder.join("packages");
        fs::create_dir_all(&folder)?;
        let listed = process::output(self.apt(Command::new("apt-get")).args([
            "-q",
            "-q",
            "download",
            "--print-uris",
            package,
        ]))?;
        // 'URI' FILE SIZE HASH
        let file =
            listed.split_whitespace().nth(1).with_context(|| format!("apt lists no file for {package}"))?;
        process::run_quietly(
            self.apt(limited(DOWNLOAD_LIMIT, "apt-get"))
                .args(["-q", "-q", "download", package])
                .current_dir(&folder),
        )
        .with_context(|| format!("the package {package} could not be fetched"))?;
        let path = folder.join(file);
        ensure!(path.is_file(), "apt-get ended well, but {} is not there", path.display());
        Ok(path)
    }

    fn apt(&self, mut command: Command) -> Command {
        command.arg("-c").arg(self.configuration()).env("LC_ALL", "C");
        command
    }

    fn list(&self) -> PathBuf {
        self.folder.join("mirror.sources")
    }

    fn configuration(&self) -> PathBuf {
        self.folder.join("apt.conf")
    }

    fn stamp(&self) -> PathBuf {
        self.folder.join("updated")
    }

    fn settings(&self) -> String {
        let folder = self.folder.display();
        let list = self.list();
        let list = list.display();
        // apt gives downloads to a user of its own, who may not look into this folder.
        let sandbox = if geteuid().is_root() { "APT::Sandbox::User \"root\";\n" } else { "" };
        format!(
            "Dir::Etc::SourceList \"{list}\";\n\
             Dir::Etc::SourceParts \"-\";\n\
             Dir::State::Lists \"{folder}/lists\";\n\
             Dir::Cache \"{folder}/cache\";\n\
             Acquire::Languages \"none\";\n\
             Acquire::IndexTargets::deb::DEP-11::DefaultEnabled \"false\";\n\
             Acquire::Retries \"2\";\n\
             Acquire::http::Timeout \"20\";\n\
             Acquire::https::Timeout \"20\";\n\
             {sandbox}"
        )
    }
}

/// Unpacks a package into a folder that appears only when it is whole.
///
/// The folder it grows in is this process's own: an unpacking that outlived its killed parent writes into another.
pub(crate) fn unpack(package: &Path, into: &Path) -> Result<()> {
    sweep_partials(into);
    let partial = beside(into, &format!(".partial-{}", std::process::id()));
    process::run(Command::new("dpkg-deb").arg("-x").arg(package).arg(&partial))
        .with_context(|| format!("{} could not be unpacked", package.display()))?;
    if into.exists() {
        fs::remove_dir_all(into)?;
    }
    fs::rename(&partial, into)?;
    Ok(())
}

/// Best effort: what is still being written to goes next time.
fn sweep_partials(into: &Path) {
    let beginning = beside(into, ".partial");
    let siblings = into.parent().and_then(|folder| fs::read_dir(folder).ok()).into_iter().flatten().flatten();
    for path in siblings.map(|sibling| sibling.path()) {
        if path.as_os_str().as_encoded_bytes().starts_with(beginning.as_os_str().as_encoded_bytes()) {
            let _ = fs::remove_dir_all(path);
        }
    }
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// Installs packages on this machine, if this user may.
pub(crate) fn install(packages: &[&str]) -> Result<()> {
    let by_hand = format!("apt-get install {}", packages.join(" "));
    ensure!(on_path("apt-get"), "install with this system's package manager: {}", packages.join(", "));
    if !geteuid().is_root() {
        bail!("run as root: {by_hand}");
    }
    let install = || {
        let mut command = limited(INSTALL_LIMIT, "apt-get");
        command
            .args(["-q", "-q", "-y", "--no-install-recommends", "install"])
            .args(packages)
            .env("DEBIAN_FRONTEND", "noninteractive");
        process::run(&mut command)
    };
    // The lists may be missing or too old to find the files; and one that cannot be fetched may not be needed.
    install().or_else(|_| {
        if let Err(error) =
            process::run_quietly(limited(UPDATE_LIMIT, "apt-get").args(["-q", "-q", "update"]))
        {
            eprintln!("apt    {error:#}");
        }
        install()
    })
}

fn stanza(mirror: &sources::Mirror, suite: &str) -> String {
    let mut stanza = format!("Types: deb\nURIs: {}\nSuites: {suite}\nComponents: main\n", mirror.uri);
    if let Some(key) = &mirror.signed_by {
        stanza += &format!("Signed-By: {key}\n");
    }
    if mirror.trusted {
        stanza += "Trusted: yes\n";
    }
    stanza + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leftovers_of_a_killed_unpacking_are_swept_and_nothing_else() {
        let scratch = tempfile::tempdir().unwrap();
        for name in ["core", "core.partial-7", "core.partial", "core-source", "other.partial-7"] {
            fs::create_dir(scratch.path().join(name)).unwrap();
        }
        sweep_partials(&scratch.path().join("core"));
        let mut left: Vec<_> =
            fs::read_dir(scratch.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["core", "core-source", "other.partial-7"]);
    }

    #[test]
    fn a_stanza_keeps_how_the_machine_believes_its_mirror() {
        let mirror = sources::Mirror {
            uri: "http://m.example/debian".to_owned(),
            signed_by: Some("/keys/d.gpg".to_owned()),
            trusted: true,
        };
        assert_eq!(
            stanza(&mirror, "trixie"),
            "Types: deb\nURIs: http://m.example/debian\nSuites: trixie\nComponents: main\n\
             Signed-By: /keys/d.gpg\nTrusted: yes\n\n"
        );
    }
}
