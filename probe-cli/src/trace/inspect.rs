//! Reading foreign program files in a process that may do nothing.
//!
//! The file is opened by whoever may open it, and handed over as standard input; what it says comes back as JSON and is
//! read as anybody's. A fault in the parser is then a fault of a process that has no user, no group, no capability and
//! little memory.

use std::fs::File;
use std::io::{self, Read, Write};
use std::process::{Command, Stdio};

use nix::sys::prctl;
use nix::sys::resource::{Resource, setrlimit};
use nix::unistd::{Gid, Uid, setgroups, setresgid, setresuid};
use serde::{Deserialize, Serialize};

use super::pattern::Pattern;
use crate::nearest;
use crate::probe::program_file::{self, ProgramFile};

/// The hidden subcommand that plays the process.
pub const SUBCOMMAND: &str = "inspect";

/// Somebody who owns nothing: `nobody`.
const NOBODY: u32 = 65_534;
/// Bytes of address space: the file, and a table of its symbols.
const MEMORY: u64 = 4 << 30;
/// Seconds of CPU.
const SECONDS: u64 = 20;
/// Names that are told when nothing matched.
const NEAR: usize = 3;
/// Bytes of an answer; one that is longer is no answer.
const LONGEST: u64 = 64 << 20;

/// What is asked of a file.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Query {
    /// Pattern of functions; none for sites alone.
    pub function: Option<String>,
    /// Whether it is a regular expression.
    pub regex: bool,
    /// Patterns of provider and name of sites; none for functions alone.
    pub site: Option<(String, String)>,
    /// Offsets in the file whose functions are to be named.
    #[serde(default)]
    pub offsets: Vec<u64>,
}

impl Query {
    fn pattern(&self, text: &str) -> Result<Pattern, String> {
        if self.regex { Pattern::regex(text) } else { Ok(Pattern::of(text)) }
    }
}

/// Asks `file`.
///
/// # Errors
///
/// What is wrong with the file, or with the process; in words.
pub fn ask(file: File, query: &Query) -> Result<ProgramFile, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let query = serde_json::to_string(query).map_err(|error| error.to_string())?;
    let mut child = Command::new(program)
        .args([SUBCOMMAND, &query])
        .env_clear()
        .stdin(Stdio::from(file))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("the process that reads it could not be started: {error}"))?;
    let mut answer = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        let _ = stdout.take(LONGEST).read_to_end(&mut answer);
    }
    let ended = child.wait().map_err(|error| error.to_string())?;
    let answer: Result<ProgramFile, String> = serde_json::from_slice(&answer)
        .map_err(|_| format!("the process that reads it gave no answer ({ended})"))?;
    answer
}

/// Plays the process: gives everything up, reads standard input, and answers.
///
/// # Errors
///
/// Those of `out`; what is wrong with the file is an answer.
pub fn serve(query: &str, out: &mut dyn Write) -> io::Result<()> {
    let answer = give_up()
        .map_err(|errno| format!("privileges could not be given up: {errno}"))
        .and_then(|()| read(query));
    serde_json::to_writer(&mut *out, &answer)?;
    out.flush()
}

fn give_up() -> nix::Result<()> {
    if Uid::effective().is_root() {
        setgroups(&[])?;
        let (user, group) = (Uid::from_raw(NOBODY), Gid::from_raw(NOBODY));
        setresgid(group, group, group)?;
        setresuid(user, user, user)?;
    }
    prctl::set_no_new_privs()?;
    setrlimit(Resource::RLIMIT_AS, MEMORY, MEMORY)?;
    setrlimit(Resource::RLIMIT_CPU, SECONDS, SECONDS)?;
    setrlimit(Resource::RLIMIT_FSIZE, 0, 0).or(Ok(()))
}

fn read(query: &str) -> Result<ProgramFile, String> {
    let query: Query = serde_json::from_str(query).map_err(|error| error.to_string())?;
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    answer(&bytes, &query)
}

fn answer(bytes: &[u8], query: &Query) -> Result<ProgramFile, String> {
    let function = query.function.as_deref().map(|text| query.pattern(text)).transpose()?;
    let wanted = |raw: &str, name: &str| {
        function.as_ref().is_some_and(|pattern| pattern.matches(name) || pattern.matches(raw))
    };
    let mut file = program_file::read(bytes, wanted, &query.offsets)?;
    match &query.site {
        None => file.sites.clear(),
        Some((provider, name)) => {
            let (provider, name) = (query.pattern(provider)?, query.pattern(name)?);
            let all: Vec<String> =
                file.sites.iter().map(|site| format!("{}:{}", site.provider, site.name)).collect();
            // The other half of a pair is wanted too; who asked tells them apart.
            file.sites.retain(|site| {
                provider.matches(&site.provider)
                    && (name.matches(&site.name)
                        || super::resolve::partners(&site.name).any(|partner| name.matches(&partner)))
            });
            file.near = if file.sites.is_empty() { all } else { Vec::new() };
            let typed = format!("{}:{}", provider.text(), name.text());
            file.near = nearest::to(&typed, file.near.iter().map(String::as_str));
            return Ok(file);
        }
    }
    let typed = function.as_ref().map_or("", Pattern::text);
    file.near = match file.functions.is_empty() {
        true => near(typed, &file.near),
        false => Vec::new(),
    };
    file.near.truncate(NEAR);
    Ok(file)
}

/// Names near to what was typed: as a whole, or their last parts, since few people type whole paths.
fn near(typed: &str, names: &[String]) -> Vec<String> {
    let whole = nearest::to(typed, names.iter().map(String::as_str));
    if !whole.is_empty() {
        return whole;
    }
    let last = |name: &str| name.rsplit("::").next().unwrap_or(name).to_owned();
    let parts: Vec<String> = names.iter().map(|name| last(name)).collect();
    let wanted = nearest::to(typed, parts.iter().map(String::as_str));
    let of = |part: &String| names.iter().find(|name| last(name) == *part).cloned();
    wanted.iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(function: &str) -> Query {
        Query { function: Some(function.into()), regex: false, site: None, offsets: Vec::new() }
    }

    #[test]
    fn a_name_that_is_mistyped_gets_the_nearest() {
        let own = std::fs::read("/proc/self/exe").unwrap();
        let file = answer(&own, &query("batch_begn")).unwrap();
        assert!(file.functions.is_empty() && file.sites.is_empty());
        assert!(file.near.iter().any(|name| name.ends_with("batch_begin")), "{:?}", file.near);
        let site = Query {
            function: None,
            regex: false,
            site: Some(("hotpath".into(), "batch_begin".into())),
            offsets: Vec::new(),
        };
        let names: Vec<_> = answer(&own, &site).unwrap().sites.into_iter().map(|site| site.name).collect();
        assert_eq!(names, ["batch_begin", "batch_end"]);
    }

    #[test]
    fn what_is_no_program_is_an_answer() {
        assert!(answer(b"text", &query("x")).is_err());
    }
}
