//! One guest: its first file system packed, booted, and its console kept.

use std::{
    fs::{self, File},
    io::{BufWriter, Write as _},
    path::{Component, Path, PathBuf},
    process::Stdio,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};

use crate::{
    process::{self, limited},
    vm::{
        console::{self, Judgement},
        cpio,
        kernel::Kernel,
    },
};

/// The guest's first program and its tests.
#[derive(Debug)]
pub(crate) struct Payload {
    /// Run as process 1.
    pub(crate) init: PathBuf,
    /// Run by it.
    pub(crate) tests: PathBuf,
    /// Programs that the tests start, found in the guest where they lie here.
    pub(crate) companions: Vec<PathBuf>,
}

/// How a guest is booted.
#[derive(Debug)]
pub(crate) struct Settings<'a> {
    /// More parameters for the kernel.
    pub(crate) append: &'a [String],
    /// Arguments for the test program.
    pub(crate) arguments: &'a [String],
    /// Ended after this, whatever it does.
    pub(crate) limit: Duration,
}

/// Boots a kernel with the payload, and judges what it says.
pub(crate) fn boot(
    kernel: &Kernel,
    payload: &Payload,
    settings: &Settings<'_>,
    folder: &Path,
) -> Result<(Judgement, Duration)> {
    let initramfs = folder.join("initramfs.cpio");
    pack(payload, &initramfs)?;
    let log = folder.join("console.log");
    let mut log_file = File::create(&log).with_context(|| format!("could not write {}", log.display()))?;

    let started = Instant::now();
    let mut console = String::new();
    let mut failed_to_log = None;
    let status = process::lines(
        limited(settings.limit, "qemu-system-x86_64")
            .args(["-accel", "tcg", "-cpu", "max", "-smp", "2", "-m", "1024"])
            .args(["-nographic", "-no-reboot", "-nic", "none"])
            .arg("-kernel")
            .arg(&kernel.image)
            .arg("-initrd")
            .arg(&initramfs)
            .arg("-append")
            .arg(command_line(settings))
            .stdin(Stdio::null()),
        |line| {
            failed_to_log = failed_to_log.take().or(writeln!(log_file, "{line}").err());
            console.push_str(line);
            console.push('\n');
        },
    )?;
    if let Some(error) = failed_to_log {
        return Err(error).with_context(|| format!("could not write {}", log.display()));
    }
    let mut judgement = console::judge(&console);
    if !status.success() {
        let limit = settings.limit.as_secs();
        judgement.faults.push(format!("the emulator ended with {status} (its limit is {limit} s)"));
    }
    Ok((judgement, started.elapsed()))
}

/// Warnings of the kernel and worse reach the console. A panic ends the guest at once, as -no-reboot takes the reboot
/// for the end. What follows `--` goes to the first program as its arguments.
fn command_line(settings: &Settings<'_>) -> String {
    let mut words = vec!["console=ttyS0", "loglevel=5", "panic=-1"];
    words.extend(settings.append.iter().map(String::as_str));
    words.push("--");
    words.extend(settings.arguments.iter().map(String::as_str));
    words.join(" ")
}

fn pack(payload: &Payload, initramfs: &Path) -> Result<()> {
    let out = File::create(initramfs).with_context(|| format!("could not write {}", initramfs.display()))?;
    let mut archive = cpio::Archive::new(BufWriter::new(out));
    let mut folders = Vec::new();
    for path in ["/dev", "/proc", "/sys", "/tmp", "/run"] {
        add_folder(&mut archive, &mut folders, Path::new(path))?;
    }
    archive.device("/dev/console", (5, 1))?;
    let mut add = |path: &Path, program: &Path| -> Result<()> {
        add_folder(&mut archive, &mut folders, path.parent().unwrap_or(Path::new("/")))?;
        let content = fs::read(program).with_context(|| format!("could not read {}", program.display()))?;
        archive.program(&path.to_string_lossy(), &content)?;
        Ok(())
    };
    add(Path::new("/init"), &payload.init)?;
    add(Path::new("/tests"), &payload.tests)?;
    for companion in &payload.companions {
        add(companion, companion)?;
    }
    archive.finish()?;
    Ok(())
}

fn add_folder(
    archive: &mut cpio::Archive<impl std::io::Write>,
    known: &mut Vec<PathBuf>,
    folder: &Path,
) -> Result<()> {
    let mut path = PathBuf::from("/");
    for component in folder.components() {
        if let Component::Normal(name) = component {
            path.push(name);
            if !known.contains(&path) {
                archive.folder(&path.to_string_lossy())?;
                known.push(path.clone());
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_the_kernels_and_arguments_the_tests() {
        let settings = Settings {
            append: &["lockdown=integrity".to_owned()],
            arguments: &["fentry".to_owned(), "--exact".to_owned()],
            limit: Duration::from_secs(1),
        };
        assert_eq!(
            command_line(&settings),
            "console=ttyS0 loglevel=5 panic=-1 lockdown=integrity -- fentry --exact"
        );
    }

    #[test]
    fn folders_are_added_once_and_before_what_is_in_them() {
        let mut archive = cpio::Archive::new(Vec::new());
        let mut known = Vec::new();
        add_folder(&mut archive, &mut known, Path::new("/a/b")).unwrap();
        add_folder(&mut archive, &mut known, Path::new("/a/c")).unwrap();
        assert_eq!(known, ["/a", "/a/b", "/a/c"].map(PathBuf::from));
    }
}
