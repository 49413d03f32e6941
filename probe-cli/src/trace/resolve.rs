//! From targets to questions: what each name means on this machine, and in which ways it can be answered.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::deny;
use super::family::{Candidate, Family};
use super::inspect::Query;
use super::pattern::Pattern;
use super::program;
use super::symbols::Symbols;
use super::target::Target;
use crate::error::{Error, Result};
use crate::host::Tree;
use crate::nearest;
use crate::probe::backend::Backend;
use crate::probe::call::{PRIMITIVES, Primitive};
use crate::probe::function::{Function, Place};
use crate::probe::notes::Site;
use crate::probe::syscall::Syscall;
use crate::probe::user::{End, UserTarget};

/// Something to ask of the kernel, or of a program.
#[derive(Clone, Debug)]
pub struct Question {
    /// As a TARGET.
    pub target: String,
    /// What the row answers, and what it includes.
    pub question: String,
    /// Ways to answer it, best first.
    pub ways: Vec<Way>,
}

/// A way to answer a question.
#[derive(Clone, Debug)]
pub enum Way {
    /// A kernel function, by fentry and fexit.
    Fentry(Function),
    /// A kernel function, by kprobe and kretprobe.
    Kprobe(Function),
    /// A system call, by its own events.
    Events(Syscall),
    /// A system call, by the points that all pass.
    Raw(Syscall),
    /// A function that timers run, by the events around all of them.
    Timer(Function),
    /// A primitive that a program calls.
    Call(Primitive),
    /// A function or site of a program.
    User(UserTarget),
}

impl Way {
    /// The mechanism behind it.
    #[must_use]
    pub const fn backend(&self) -> Backend {
        match self {
            Self::Fentry(_) => Backend::Fentry,
            Self::Kprobe(_) => Backend::Kprobe,
            Self::Events(_) | Self::Timer(_) => Backend::Tracepoint,
            Self::Raw(_) => Backend::RawTracepoint,
            Self::Call(_) => Backend::Call,
            Self::User(_) => Backend::Uprobe,
        }
    }

    /// What it watches.
    #[must_use]
    pub fn what(&self) -> String {
        match self {
            Self::Fentry(function) | Self::Kprobe(function) => function.name.to_string(),
            Self::Events(call) => format!("the events of {}", call.name),
            Self::Raw(call) => format!("the points all system calls pass, for {}", call.name),
            Self::Timer(function) => format!("the timer function {}", function.name),
            Self::Call(primitive) => format!("{}, called", primitive.name),
            Self::User(target) => format!("{}", target.binary.display()),
        }
    }

    /// Whether it tells sizes apart.
    #[must_use]
    pub fn knows_sizes(&self) -> bool {
        match self {
            Self::Fentry(function) => function.size != Place::Unknown,
            Self::Kprobe(function) => matches!(function.size, Place::Argument(_)),
            Self::Events(call) => matches!(call.size_argument, Some(1 | 2)),
            Self::Raw(call) => call.size_argument.is_some(),
            Self::Timer(_) | Self::Call(_) | Self::User(_) => false,
        }
    }
}

/// What names are looked up in.
#[derive(Debug)]
pub struct Names {
    /// Read when the first question needs it: that takes longer than all the rest.
    symbols: OnceLock<Symbols>,
    process: Option<u32>,
    tree: Tree,
}

/// What became of names.
#[derive(Debug, Default)]
pub struct Resolved {
    /// Questions, each once.
    pub questions: Vec<Question>,
    /// What was left out, and why.
    pub left_out: Vec<String>,
}

impl Names {
    /// Those of this machine; files are looked for where `process` sees them.
    #[must_use]
    pub fn of_this_machine(process: Option<u32>) -> Self {
        Self { symbols: OnceLock::new(), process, tree: Tree::system() }
    }

    /// Names of a table, for tests.
    #[must_use]
    pub fn new(symbols: Symbols, process: Option<u32>, tree: Tree) -> Self {
        Self { symbols: OnceLock::from(symbols), process, tree }
    }

    /// The kernel's functions.
    #[must_use]
    pub fn symbols(&self) -> &Symbols {
        self.symbols.get_or_init(|| Symbols::read(Path::new("/")))
    }

    /// The questions behind `texts`; names of functions are regular expressions where `regex` says so. `returns` says
    /// that ends are timed too, and not only beginnings counted.
    ///
    /// # Errors
    ///
    /// A target is written wrongly, is not there, or must not be traced.
    pub fn resolve(&self, texts: &[String], regex: bool, returns: bool) -> Result<Resolved> {
        let mut resolved = Resolved::default();
        for text in texts {
            let target =
                Target::parse(text, regex).map_err(|why| Error::BadTarget { target: text.clone(), why })?;
            let mut found = Vec::new();
            match &target {
                Target::Family(family) => found.extend(self.family(*family)),
                Target::Function(pattern) => found = self.functions(text, pattern, &mut resolved.left_out)?,
                Target::Syscall(pattern) => found = syscalls(text, pattern)?,
                Target::Timer(name) => found.push(self.timer(text, name)?),
                Target::Call(name) => found.push(primitive(text, name)?),
                Target::Usdt { binary, provider, name } => {
                    found = self.sites(text, binary, provider, name)?;
                }
                Target::User { binary, function } => {
                    found = self.user(text, binary, function, regex, returns, &mut resolved.left_out)?;
                }
                Target::Offset { binary, offset } => found.push(self.offset(text, binary, *offset, returns)?),
            }
            for question in found {
                if !resolved.questions.iter().any(|known| known.target == question.target) {
                    resolved.questions.push(question);
                }
            }
        }
        Ok(resolved)
    }

    fn family(&self, family: Family) -> impl Iterator<Item = Question> {
        family.questions().iter().map(|question| Question {
            target: question.name.to_owned(),
            question: question.question.to_owned(),
            ways: question.candidates.iter().flat_map(|candidate| self.ways(candidate)).collect(),
        })
    }

    fn ways(&self, candidate: &Candidate) -> Vec<Way> {
        match candidate {
            Candidate::Function(function) => function_ways(function.clone()),
            Candidate::Syscall(name) => {
                Syscall::by_name(name).map(|call| vec![Way::Events(call), Way::Raw(call)]).unwrap_or_default()
            }
            Candidate::Timer(name) => vec![Way::Timer(Function::named(name))],
            Candidate::Call(name) => Primitive::by_name(name).map(Way::Call).into_iter().collect(),
        }
    }

    fn functions(&self, text: &str, pattern: &Pattern, left_out: &mut Vec<String>) -> Result<Vec<Question>> {
        let names = self.symbols().matching(pattern);
        if names.is_empty() {
            if self.symbols().is_empty() {
                return Err(Error::NotTraceable {
                    target: text.to_owned(),
                    why: "the kernel's table of symbols, /proc/kallsyms, cannot be read".to_owned(),
                });
            }
            return Err(Error::UnknownTarget {
                name: text.to_owned(),
                how: "traced",
                candidates: nearest::to(text, self.symbols().names()),
            });
        }
        let mut questions = Vec::new();
        for name in names {
            let stopped = deny::reason(name)
                .map(|reason| format!("{name} must not be probed: {reason}"))
                .or_else(|| self.ambiguous(name));
            match stopped {
                Some(why) if pattern.is_exact() => {
                    return Err(Error::NotTraceable { target: text.to_owned(), why });
                }
                Some(why) => left_out.push(why),
                None => questions.push(Question {
                    target: name.to_owned(),
                    question: "one call of the kernel function, from entry to return".to_owned(),
                    ways: function_ways(known(name)),
                }),
            }
        }
        if questions.is_empty() {
            return Err(Error::NotTraceable { target: text.to_owned(), why: left_out.join("; ") });
        }
        Ok(questions)
    }

    /// Static functions may share a name, and a probe by name would get one of them by chance.
    fn ambiguous(&self, name: &str) -> Option<String> {
        let addresses = self.symbols().addresses(name);
        let told: Vec<String> = addresses.iter().map(|address| format!("{address:#x}")).collect();
        (addresses.len() > 1).then(|| {
            format!(
                "{} functions are called {name}, at {}; they cannot be told apart by name: trace their callers",
                addresses.len(),
                told.join(", ")
            )
        })
    }

    fn timer(&self, text: &str, name: &str) -> Result<Question> {
        if self.symbols().addresses(name).is_empty() && !self.symbols().is_empty() {
            return Err(Error::UnknownTarget {
                name: text.to_owned(),
                how: "traced",
                candidates: nearest::to(name, self.symbols().names()),
            });
        }
        let function = Function { name: Cow::Owned(name.to_owned()), size: Place::Unknown };
        Ok(Question {
            target: text.to_owned(),
            question: "one run of the timer function, on any CPU".to_owned(),
            ways: vec![Way::Timer(function)],
        })
    }

    fn open(&self, text: &str, binary: &str) -> Result<PathBuf> {
        program::find(binary, self.process)
            .map_err(|why| Error::NotTraceable { target: text.to_owned(), why })
    }

    fn sites(&self, text: &str, binary: &str, provider: &Pattern, name: &Pattern) -> Result<Vec<Question>> {
        let path = self.open(text, binary)?;
        let refuse = |why: String| Error::NotTraceable { target: text.to_owned(), why };
        let regex = matches!(name, Pattern::Regex(_));
        let site = Some((provider.text().to_owned(), name.text().to_owned()));
        let file = program::ask(&path, &Query { function: None, regex, site, offsets: Vec::new() })
            .map_err(refuse)?;
        let mut questions: Vec<Question> = Vec::new();
        for site in file.sites.iter().filter(|site| name.matches(&site.name)) {
            let target = format!("usdt:{binary}:{}:{}", site.provider, site.name);
            if questions.iter().any(|question| question.target == target) {
                continue;
            }
            if site.guarded {
                return Err(refuse(format!(
                    "the program passes {}:{} only while a counter in its memory is set, which this tool does not do",
                    site.provider, site.name
                )));
            }
            let offsets = |name: &str| -> Vec<u64> {
                let same = |other: &&Site| other.provider == site.provider && other.name == name;
                file.sites.iter().filter(same).map(|other| other.offset).collect()
            };
            let partner = partners(&site.name)
                .map(|partner| (offsets(&partner), partner))
                .find(|(ends, _)| !ends.is_empty());
            let (question, end) = match partner {
                Some((ends, partner)) if is_beginning(&site.name) => {
                    (format!("from one hit to the next of {partner}, by the same thread"), End::Sites(ends))
                }
                _ => ("from one hit to the next, by the same thread".to_owned(), End::NextHit),
            };
            let begins = offsets(&site.name);
            let way = Way::User(UserTarget { binary: path.clone(), begins, end });
            questions.push(Question { target, question, ways: vec![way] });
        }
        if questions.is_empty() {
            return Err(Error::UnknownTarget { name: text.to_owned(), how: "traced", candidates: file.near });
        }
        Ok(questions)
    }

    fn user(
        &self,
        text: &str,
        binary: &str,
        function: &Pattern,
        regex: bool,
        returns: bool,
        left_out: &mut Vec<String>,
    ) -> Result<Vec<Question>> {
        let path = self.open(text, binary)?;
        let refuse = |why: String| Error::NotTraceable { target: text.to_owned(), why };
        let query =
            Query { function: Some(function.text().to_owned()), regex, site: None, offsets: Vec::new() };
        let file = program::ask(&path, &query).map_err(refuse)?;
        if !file.has_symbols {
            return Err(refuse(
                "it has no table of symbols; name an offset, as in BINARY:+0x1a40".to_owned(),
            ));
        }
        if file.functions.is_empty() {
            return Err(Error::UnknownTarget { name: text.to_owned(), how: "traced", candidates: file.near });
        }
        self.returns_allowed(returns, file.is_go).map_err(refuse)?;
        let mut questions: Vec<Question> = Vec::new();
        for found in &file.functions {
            if found.chooses {
                let why = format!(
                    "{} only chooses, when the program is loaded, what will be called (IFUNC); name the function that is \
                     called",
                    found.name
                );
                if function.is_exact() {
                    return Err(refuse(why));
                }
                left_out.push(why);
                continue;
            }
            let target = format!("{binary}:{}", found.name);
            let mut question = "one call of the function, from entry to return".to_owned();
            if !found.also.is_empty() {
                question += &format!("; the same code is also {}", found.also.join(", "));
            }
            match questions.iter_mut().find(|question| question.target == target) {
                // Instances of a generic function, and clones: one row.
                Some(Question { ways, question, .. }) => {
                    if let [Way::User(user)] = &mut ways[..] {
                        user.begins.push(found.offset);
                        "one call of any instance of the function, from entry to return".clone_into(question);
                    }
                }
                None => {
                    let begins = vec![found.offset];
                    let way = Way::User(UserTarget { binary: path.clone(), begins, end: End::Return });
                    questions.push(Question { target, question, ways: vec![way] });
                }
            }
        }
        if questions.is_empty() {
            return Err(refuse(left_out.join("; ")));
        }
        Ok(questions)
    }

    fn offset(&self, text: &str, binary: &str, offset: u64, returns: bool) -> Result<Question> {
        let path = self.open(text, binary)?;
        let refuse = |why: String| Error::NotTraceable { target: text.to_owned(), why };
        let query = Query { function: None, regex: false, site: None, offsets: Vec::new() };
        let file = program::ask(&path, &query).map_err(refuse)?;
        if !file.is_code(offset) {
            return Err(refuse(format!("offset {offset:#x} of the file is not in its code")));
        }
        self.returns_allowed(returns, file.is_go).map_err(refuse)?;
        Ok(Question {
            target: text.to_owned(),
            question: "one call of the function that begins there, from entry to return".to_owned(),
            ways: vec![Way::User(UserTarget { binary: path, begins: vec![offset], end: End::Return })],
        })
    }

    fn returns_allowed(&self, returns: bool, is_go: bool) -> Result<(), String> {
        if !returns {
            return Ok(());
        }
        if is_go {
            return Err(
                "it was written in Go, which moves its stacks: a return probe would crash it; count instead"
                    .to_owned(),
            );
        }
        match self.process.and_then(|process| program::confined(&self.tree, process)) {
            Some(why) => Err(why),
            None => Ok(()),
        }
    }
}

/// The ways to trace a kernel function.
fn function_ways(function: Function) -> Vec<Way> {
    vec![Way::Fentry(function.clone()), Way::Kprobe(function)]
}

/// A function by name, with its size where a table has it.
fn known(name: &str) -> Function {
    let candidates = Family::ALL.iter().flat_map(|family| family.questions()).flat_map(|q| q.candidates);
    let of_family = candidates.filter_map(|candidate| match candidate {
        Candidate::Function(function) if function.name == name => Some(function.size),
        _ => None,
    });
    let size = of_family.into_iter().next().unwrap_or(match name {
        "vfs_write" | "ksys_write" | "ksys_read" => Place::Argument(2),
        _ => Place::Unknown,
    });
    Function { name: Cow::Owned(name.to_owned()), size }
}

fn syscalls(text: &str, pattern: &Pattern) -> Result<Vec<Question>> {
    let question = |call: Syscall| Question {
        target: format!("syscall:{}", call.name),
        question: "one system call, from entry to exit; includes whatever it waits for".to_owned(),
        ways: vec![Way::Events(call), Way::Raw(call)],
    };
    let found: Vec<_> = Syscall::all().filter(|call| pattern.matches(call.name)).map(question).collect();
    if found.is_empty() {
        let candidates = nearest::to(pattern.text(), Syscall::all().map(|call| call.name));
        let candidates = candidates.into_iter().map(|name| format!("syscall:{name}")).collect();
        return Err(Error::UnknownTarget { name: text.to_owned(), how: "traced", candidates });
    }
    Ok(found)
}

fn primitive(text: &str, name: &str) -> Result<Question> {
    let primitive = Primitive::by_name(name).ok_or_else(|| Error::UnknownTarget {
        name: text.to_owned(),
        how: "called",
        candidates: nearest::to(name, PRIMITIVES.iter().map(|primitive| primitive.name)),
    })?;
    Ok(Question {
        target: text.to_owned(),
        question: primitive.what.to_owned(),
        ways: vec![Way::Call(primitive)],
    })
}

/// Endings by which people name the two sites around a piece of work.
const PAIRS: [(&str, &str); 6] = [
    ("begin", "end"),
    ("start", "end"),
    ("start", "done"),
    ("entry", "return"),
    ("entry", "exit"),
    ("enter", "exit"),
];

/// Whether a site is named as the first of two.
fn is_beginning(name: &str) -> bool {
    PAIRS.iter().any(|(begin, _)| name.ends_with(begin))
}

/// Names that the site at the other end of the work could have.
pub(crate) fn partners(name: &str) -> impl Iterator<Item = String> {
    PAIRS.iter().flat_map(move |(begin, end)| {
        let ahead = name.strip_suffix(begin).map(|stem| format!("{stem}{end}"));
        let back = name.strip_suffix(end).map(|stem| format!("{stem}{begin}"));
        ahead.into_iter().chain(back)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sites_come_in_pairs_by_their_names() {
        let of = |name: &str| partners(name).collect::<Vec<_>>();
        assert!(of("batch_begin").contains(&"batch_end".to_owned()));
        assert!(of("function__entry").contains(&"function__return".to_owned()));
        assert!(of("batch_end").contains(&"batch_begin".to_owned()));
        assert_eq!(of("point"), [""; 0]);
        assert!(is_beginning("query__start") && !is_beginning("query__done"));
    }

    #[test]
    fn calls_are_found_by_pattern_and_mistyped_ones_get_the_nearest() {
        let names = Names::new(Symbols::default(), None, Tree::system());
        let resolve = |text: &str| names.resolve(&[text.to_owned()], false, true);
        let found: Vec<_> =
            resolve("syscall:*pread*").unwrap().questions.into_iter().map(|q| q.target).collect();
        assert!(found.contains(&"syscall:pread64".to_owned()), "{found:?}");
        let error = resolve("syscall:getrandon").unwrap_err();
        assert!(error.to_string().contains("`syscall:getrandom`"), "{error}");
        let twice = names.resolve(&["syscall:read".into(), "syscall:read".into()], false, true).unwrap();
        assert_eq!(twice.questions.len(), 1);
    }

    #[test]
    fn a_family_asks_all_its_questions_in_order() {
        let names = Names::new(Symbols::default(), None, Tree::system());
        let found = names.resolve(&["random".into()], false, true).unwrap().questions;
        assert_eq!(found.len(), Family::Random.questions().len());
        let ways: Vec<_> = found[0].ways.iter().map(Way::backend).collect();
        assert_eq!(ways, [Backend::Fentry, Backend::Kprobe, Backend::Tracepoint, Backend::RawTracepoint]);
    }
}
