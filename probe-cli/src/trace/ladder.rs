//! Attaching: of each question the first way that this machine takes, and why it did not take the earlier ones.

use std::cell::Cell;

use super::resolve::{Question, Way};
use super::tracer::{Part, Tracer};
use crate::probe::backend::Backend;
use crate::probe::call::Primitive;
use crate::probe::refusal::Refusal;
use crate::probe::scope::Scope;
use crate::probe::session::{Attachment, Progress};
use crate::probe::{function, kprobe, syscall, timer, user};

/// A question and what became of attaching to it.
#[derive(Clone, Debug)]
pub struct Row {
    /// What was asked.
    pub question: Question,
    /// What answers.
    pub backend: Backend,
    /// Why this one, and why not the earlier ones.
    pub reason: String,
    /// Whether sizes are told apart.
    pub sized: bool,
    /// What stopped each earlier way.
    pub refusals: Vec<Refusal>,
}

/// Ways of one kind are attached together.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Kind {
    Fentry,
    Kprobe,
    Events,
    Raw,
    Timer,
    User,
}

const fn kind(way: &Way) -> Option<Kind> {
    match way {
        Way::Fentry(_) => Some(Kind::Fentry),
        Way::Kprobe(_) => Some(Kind::Kprobe),
        Way::Events(_) => Some(Kind::Events),
        Way::Raw(_) => Some(Kind::Raw),
        Way::Timer(_) => Some(Kind::Timer),
        Way::User(_) => Some(Kind::User),
        Way::Call(_) => None,
    }
}

/// Attaches to `questions`, of whose ways only those by `only` are tried where it is given.
#[must_use]
pub fn attach(
    questions: Vec<Question>,
    scope: &Scope,
    only: Option<Backend>,
    progress: Progress<'_>,
) -> Tracer {
    let mut rows: Vec<Row> = questions
        .into_iter()
        .map(|mut question| {
            question.ways.retain(|way| only.is_none_or(|only| way.backend() == only));
            let reason = String::new();
            Row { question, backend: Backend::None, reason, sized: false, refusals: Vec::new() }
        })
        .collect();
    let mut parts: Vec<Part> = Vec::new();
    let mut calls: Vec<(usize, Primitive)> = Vec::new();
    // The way of each row that is tried next; none once it is attached or has no more.
    let mut turn: Vec<Option<usize>> = rows.iter().map(|_| Some(0)).collect();
    let stopped = Cell::new(false);
    let progress = |done: usize, all: usize| {
        let go_on = progress(done, all);
        stopped.set(!go_on);
        go_on
    };
    while let Some(first) = turn.iter().position(Option::is_some) {
        let Some(way) = turn[first].and_then(|way| rows[first].question.ways.get(way).cloned()) else {
            turn[first] = None;
            continue;
        };
        if let Way::Call(primitive) = &way {
            calls.push((first, *primitive));
            answered(&mut rows[first], &way);
            turn[first] = None;
            continue;
        }
        let kind_of = kind(&way);
        let group: Vec<(usize, Way)> = (first..rows.len())
            .filter_map(|row| {
                let way = rows[row].question.ways.get(turn[row]?)?;
                (kind(way) == kind_of).then(|| (row, way.clone()))
            })
            .collect();
        let ways: Vec<&Way> = group.iter().map(|(_, way)| way).collect();
        match attach_group(&ways, scope, &progress) {
            Ok(Attachment { session, refused }) => {
                for (place, (row, way)) in group.iter().enumerate() {
                    match refused.iter().find(|(refused, _)| *refused == place) {
                        None => {
                            answered(&mut rows[*row], way);
                            turn[*row] = None;
                        }
                        Some((_, refusal)) => next(&mut rows[*row], &mut turn[*row], way, refusal),
                    }
                }
                parts.push(Part::new(session, group.iter().map(|(row, _)| *row).collect(), &refused));
            }
            Err(refusal) => {
                for (row, way) in &group {
                    next(&mut rows[*row], &mut turn[*row], way, &refusal);
                }
            }
        }
        if stopped.get() {
            break;
        }
    }
    for row in rows.iter_mut().filter(|row| row.backend == Backend::None) {
        let mut reasons = vec!["nothing attaches here".to_owned()];
        if let (Some(only), true) = (only, row.question.ways.is_empty()) {
            reasons.push(format!("{only} is no way to answer this"));
        }
        reasons.extend(std::mem::take(&mut row.reason).split_terminator('\n').map(str::to_owned));
        row.reason = reasons.join("; ");
    }
    Tracer::new(rows, parts, calls)
}

/// Reasons are gathered as lines, and become one sentence when the row is answered.
fn next(row: &mut Row, turn: &mut Option<usize>, way: &Way, refusal: &Refusal) {
    row.reason += &format!("{} by {}: {refusal}\n", way.what(), way.backend());
    row.refusals.push(refusal.clone());
    *turn = turn.map(|way| way + 1);
}

fn answered(row: &mut Row, way: &Way) {
    let mut reasons = vec![format!("{} by {}", way.what(), way.backend())];
    reasons.extend(row.reason.split_terminator('\n').map(str::to_owned));
    row.reason = reasons.join("; ");
    row.backend = way.backend();
    row.sized = way.knows_sizes();
}

fn attach_group(ways: &[&Way], scope: &Scope, progress: Progress<'_>) -> Result<Attachment, Refusal> {
    let functions = || {
        let function = |way: &&Way| match way {
            Way::Fentry(function) | Way::Kprobe(function) | Way::Timer(function) => Some(function.clone()),
            _ => None,
        };
        ways.iter().filter_map(function).collect::<Vec<_>>()
    };
    let syscalls = || {
        let call = |way: &&Way| match way {
            Way::Events(call) | Way::Raw(call) => Some(*call),
            _ => None,
        };
        ways.iter().filter_map(call).collect::<Vec<_>>()
    };
    let whole = |session| Attachment { session, refused: Vec::new() };
    match ways.first().and_then(|way| kind(way)) {
        Some(Kind::Fentry) => function::attach(&functions(), scope, progress),
        Some(Kind::Kprobe) => kprobe::attach(&functions(), scope, progress),
        Some(Kind::Events) => syscall::attach_events(&syscalls(), scope),
        Some(Kind::Raw) => syscall::trace_raw(&syscalls(), scope).map(whole),
        Some(Kind::Timer) => timer::trace(&functions(), scope).map(whole),
        _ => {
            let target = |way: &&Way| match way {
                Way::User(target) => Some(target.clone()),
                _ => None,
            };
            user::attach(&ways.iter().filter_map(target).collect::<Vec<_>>(), scope, progress)
        }
    }
}
