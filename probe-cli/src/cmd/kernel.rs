//! What the live kernel answers, as the rows of this tool's documents: the one door to [`crate::probe`].

use std::{collections::BTreeMap, path::Path};

use serde::Serialize;

use crate::{
    error::{Error, Result},
    experiment::{Experiment, question::Question as LiveQuestion},
    probe::{
        backend::Backend,
        calibration,
        call::{self, PRIMITIVES, Primitive},
        capability::{self, Mechanism},
        live::{self, Effort},
        markers::Markers,
        notes,
        refusal::Refusal,
    },
    report::model::{LiveRow, MechanismRow, ProbeCost, Warning},
    stats::quantile::quantile,
    trace::{
        family::Family,
        resolve::{Names, Question},
    },
};

/// The mechanisms proper, in the order a target tries them; the rest of what is tried is what they stand on.
const LADDER: [Backend; 6] = [
    Backend::Fentry,
    Backend::Kprobe,
    Backend::Tracepoint,
    Backend::RawTracepoint,
    Backend::Uprobe,
    Backend::Call,
];

/// One primitive, timed.
#[derive(Clone, Debug, Serialize)]
pub(super) struct CallRow {
    /// As `call:NAME`.
    pub(super) target: String,
    /// What one call does.
    pub(super) question: String,
    /// Calls behind each sample.
    pub(super) calls_per_sample: u32,
    /// Samples.
    pub(super) n: u64,
    /// Quantiles of one call, ns, the floor subtracted.
    pub(super) p50_ns: Option<f64>,
    pub(super) p90_ns: Option<f64>,
    pub(super) p99_ns: Option<f64>,
    /// One turn of the loop without a call, ns.
    pub(super) floor_ns: Option<f64>,
    /// The median is under three times the floor.
    pub(super) probe_bound: bool,
}

/// A kernel function, system call or primitive.
#[derive(Clone, Debug, Serialize)]
pub(super) struct TargetRow {
    /// As a TARGET is written.
    pub(super) name: String,
    /// What it answers.
    pub(super) question: String,
    /// The mechanism that would answer here; null where none would.
    pub(super) backend: Option<String>,
    /// Why this one, or why none.
    pub(super) reason: String,
}

/// A probe site of this program.
#[derive(Clone, Debug, Serialize)]
pub(super) struct SiteRow {
    /// `usdt:BINARY:PROVIDER:NAME`.
    pub(super) name: String,
    /// Offset of its instruction in the file.
    pub(super) offset: u64,
    /// Where its arguments are.
    pub(super) arguments: String,
    /// Whether it can be attached to here, and how, or why not.
    pub(super) reason: String,
}

/// Every mechanism, and everything they stand on, tried just now.
pub(super) fn trials() -> (Vec<MechanismRow>, Vec<MechanismRow>) {
    let mut rows: Vec<MechanismRow> = capability::mechanisms().into_iter().map(row).collect();
    let mut mechanisms = Vec::new();
    for backend in LADDER {
        if let Some(at) = rows.iter().position(|row| row.name == backend.name()) {
            mechanisms.push(rows.remove(at));
        }
    }
    (mechanisms, rows)
}

/// Every mechanism, tried just now.
pub(super) fn mechanisms() -> Vec<MechanismRow> {
    trials().0
}

fn row(mechanism: Mechanism) -> MechanismRow {
    let Mechanism { name, what, outcome } = mechanism;
    let (works, tried, reason, remedy) = match outcome {
        Ok(seen) => (true, None, seen, None),
        Err(Refusal { tried, answer, cause }) => {
            (false, Some(tried), format!("{answer}; likely {cause}"), Some(cause.next_step().to_owned()))
        }
    };
    MechanismRow { name: name.to_owned(), what: what.to_owned(), works, tried, reason, remedy }
}

/// What the kinds of probe cost, and a warning for each kind whose cost could not be had.
pub(super) fn calibration() -> (BTreeMap<String, ProbeCost>, Vec<Warning>) {
    let (costs, refusals) = calibration::calibrate();
    let warning = |refusal: Refusal| Warning { code: "not-calibrated".to_owned(), text: refusal.to_string() };
    (costs, refusals.into_iter().map(warning).collect())
}

/// The markers around batches, of every process that runs this program.
pub(super) fn markers() -> Result<Markers, Refusal> {
    Markers::attach(Path::new("/proc/self/exe"))
}

/// The live counterparts of an experiment, asked one by one until `stop` says to.
pub(super) fn live(
    experiment: &dyn Experiment,
    tasks: &[usize],
    quick: bool,
    stop: impl Fn() -> bool,
) -> Vec<LiveRow> {
    let effort = if quick { Effort::QUICK } else { Effort::FULL };
    let questions = questions(experiment, tasks);
    questions.iter().map_while(|question| (!stop()).then(|| live::ask(question, effort))).collect()
}

/// What is asked of the kernel beside an experiment; rows that differ in their tasks alone stand together.
fn questions(experiment: &dyn Experiment, tasks: &[usize]) -> Vec<LiveQuestion> {
    let mut asked: Vec<LiveQuestion> = tasks.iter().flat_map(|&tasks| experiment.live(tasks)).collect();
    asked.sort_by_key(|question| asked_first(experiment, question.target));
    asked
}

/// Where an experiment has this target among its questions.
fn asked_first(experiment: &dyn Experiment, target: &str) -> Option<usize> {
    experiment.live(1).iter().position(|question| question.target == target)
}

/// Primitives that can be called: name and what one call does.
pub(super) fn primitives() -> impl Iterator<Item = (&'static str, &'static str)> {
    PRIMITIVES.iter().map(|primitive| (primitive.name, primitive.what))
}

/// Calls the primitive `name` and reads the times.
pub(super) fn call(name: &str, samples: u32) -> Result<CallRow> {
    let unknown = || Error::UnknownTarget { name: name.to_owned(), how: "called", candidates: Vec::new() };
    let primitive = Primitive::by_name(name).ok_or_else(unknown)?;
    let mut times = call::measure(primitive, samples).map_err(Error::Refused)?;
    times.net_ns.sort_by(f64::total_cmp);
    times.floor_ns.sort_by(f64::total_cmp);
    let (p50_ns, floor_ns) = (quantile(&times.net_ns, 0.5), quantile(&times.floor_ns, 0.5));
    Ok(CallRow {
        target: format!("call:{name}"),
        question: primitive.what.to_owned(),
        calls_per_sample: times.calls_per_sample,
        n: times.net_ns.len() as u64,
        p50_ns,
        p90_ns: quantile(&times.net_ns, 0.9),
        p99_ns: quantile(&times.net_ns, 0.99),
        floor_ns,
        probe_bound: p50_ns.zip(floor_ns).is_some_and(|(p50, floor)| p50 < 3.0 * floor),
    })
}

/// Functions that a pattern may add to a list.
const FUNCTIONS: usize = 200;

/// Everything that can be traced and `wanted`, with what would answer here. The kernel's functions are a hundred
/// thousand: they are among them where a `pattern` asks for them. A pattern may also be a target of a program.
pub(super) fn targets(
    mechanisms: &[MechanismRow],
    pattern: Option<&str>,
    wanted: &dyn Fn(&str) -> bool,
) -> Vec<TargetRow> {
    let names = Names::of_this_machine(None);
    let resolve = |target: &str| names.resolve(&[target.to_owned()], false, true);
    let mut questions: Vec<Question> = Vec::new();
    let everything = Family::ALL.iter().map(|family| family.name()).chain(["syscall:*"]);
    for target in everything {
        questions.extend(resolve(target).map(|found| found.questions).unwrap_or_default());
    }
    for (name, _) in primitives() {
        questions.extend(resolve(&format!("call:{name}")).map(|found| found.questions).unwrap_or_default());
    }
    questions.retain(|question| wanted(&question.target));
    let functions = pattern.map(|pattern| match pattern.contains(['*', '?']) || pattern.contains(':') {
        true => pattern.to_owned(),
        false => format!("*{pattern}*"),
    });
    let found = functions.map(|target| resolve(&target).map(|found| found.questions).unwrap_or_default());
    questions.extend(found.unwrap_or_default().into_iter().take(FUNCTIONS));
    let mut rows: Vec<TargetRow> = Vec::new();
    for question in questions {
        if rows.iter().any(|row| row.name == question.target) {
            continue;
        }
        let candidates: Vec<_> = question.ways.iter().map(|way| (way.backend(), way.what())).collect();
        let (backend, reason) = choose(mechanisms, &candidates);
        rows.push(TargetRow { name: question.target, question: question.question, backend, reason });
    }
    rows
}

/// The first candidate whose mechanism works, and why the earlier ones do not.
fn choose(mechanisms: &[MechanismRow], candidates: &[(Backend, String)]) -> (Option<String>, String) {
    let mut refused = Vec::new();
    for (backend, what) in candidates {
        match mechanisms.iter().find(|row| row.name == backend.name()) {
            Some(row) if row.works => {
                refused.insert(0, what.clone());
                return (Some(backend.name().to_owned()), refused.join("; "));
            }
            Some(row) => refused.push(format!("not {what} by {backend}: {}", row.reason)),
            None => refused.push(format!("not {what}: {backend} was not tried")),
        }
    }
    (None, refused.join("; "))
}

/// The probe sites of this program.
pub(super) fn sites(mechanisms: &[MechanismRow]) -> Vec<SiteRow> {
    let binary = std::env::current_exe().unwrap_or_else(|_| "/proc/self/exe".into());
    let uprobe = mechanisms.iter().find(|row| row.name == Backend::Uprobe.name());
    let reason = match uprobe {
        Some(row) if row.works => "uprobe; bpftrace and perf can use it too".to_owned(),
        Some(row) => format!("not attached here: {}", row.reason),
        None => "not tried".to_owned(),
    };
    let sites = notes::sites(&binary).unwrap_or_default();
    let row = |site: notes::Site| SiteRow {
        name: format!("usdt:{}:{}:{}", binary.display(), site.provider, site.name),
        offset: site.offset,
        arguments: site.arguments,
        reason: reason.clone(),
    };
    sites.into_iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tried(name: &str, works: bool) -> MechanismRow {
        MechanismRow {
            name: name.into(),
            what: String::new(),
            works,
            tried: None,
            reason: "EPERM".into(),
            remedy: None,
        }
    }

    #[test]
    fn the_first_that_works_answers_and_says_why_not_the_earlier_ones() {
        let candidates = [
            (Backend::Fentry, "f".to_owned()),
            (Backend::Tracepoint, "e".into()),
            (Backend::RawTracepoint, "r".into()),
        ];
        let rows = [tried("fentry", false), tried("tracepoint", true), tried("raw-tracepoint", true)];
        assert_eq!(
            choose(&rows, &candidates),
            (Some("tracepoint".into()), "e; not f by fentry: EPERM".into())
        );
        let rows = [tried("fentry", false), tried("tracepoint", false)];
        let (backend, reason) = choose(&rows, &candidates);
        assert_eq!(backend, None);
        assert_eq!(
            reason,
            "not f by fentry: EPERM; not e by tracepoint: EPERM; not r: raw-tracepoint was not tried"
        );
    }
}
