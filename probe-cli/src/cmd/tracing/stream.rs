//! Writing a session while it lasts and when it ends, in any of the forms.

use std::io::Write;

use serde::Serialize;

use super::arguments::{Arguments, Form};
use super::session::Kind;
use crate::cmd::Words;
use crate::cmd::output::document;
use crate::error::{Error, Result};
use crate::report::file;
use crate::report::model::Warning;
use crate::trace::document::{Interval, SCHEMA, Session, SessionRow, SlowRow};
use crate::trace::ladder::Row;
use crate::trace::table;
use crate::trace::text::{self, Look};

/// Where a session is written to, and how.
pub(super) struct Stream<'a> {
    arguments: &'a Arguments,
    kind: Kind,
    look: Look,
    /// What goes to a file is put there whole, at the end.
    kept: Vec<u8>,
    out: &'a mut dyn Write,
}

#[derive(Serialize)]
#[serde(tag = "record", rename_all = "kebab-case")]
enum Record<'a> {
    Ready { schema: &'static str, targets: Vec<Attached<'a>> },
    Interval(&'a Interval),
    Slow(&'a SlowRow),
    Warning(&'a Warning),
    End { schema: &'static str, interrupted: bool, duration_ns: u64, targets: &'a [SessionRow] },
}

#[derive(Serialize)]
struct Attached<'a> {
    target: &'a str,
    backend: &'static str,
    reason: &'a str,
}

impl<'a> Stream<'a> {
    pub(super) fn new(arguments: &'a Arguments, kind: Kind, words: Words, out: &'a mut dyn Write) -> Self {
        let look = Look {
            style: arguments.place().style(words),
            unit: arguments.unit(),
            timestamps: arguments.timestamps,
            shape: kind == Kind::Trace,
        };
        Self { arguments, kind, look, kept: Vec::new(), out }
    }

    /// Gives the output back, with nothing written to it.
    pub(super) fn into_out(self) -> &'a mut dyn Write {
        self.out
    }

    /// Whether intervals are told at the end, in the one document.
    pub(super) fn is_document(&self) -> bool {
        self.arguments.format == Form::Json
    }

    /// Fails now if it would fail at the end.
    pub(super) fn check(&self) -> Result<()> {
        self.arguments.place().check()?;
        self.arguments.save.iter().try_for_each(|path| file::check(path))
    }

    fn put(&mut self, text: &[u8]) -> Result<()> {
        if self.arguments.output.is_some() {
            self.kept.extend(text);
            return Ok(());
        }
        self.out.write_all(text).and_then(|()| self.out.flush()).map_err(Error::Stdout)
    }

    fn record(&mut self, record: &Record<'_>) -> Result<()> {
        let mut line = serde_json::to_vec(record).map_err(Error::NotANumber)?;
        line.push(b'\n');
        self.put(&line)
    }

    /// Everything is attached.
    pub(super) fn ready(&mut self, rows: &[Row]) -> Result<()> {
        match self.arguments.format {
            Form::Ndjson => {
                let targets = rows.iter().map(|row| Attached {
                    target: &row.question.target,
                    backend: row.backend.name(),
                    reason: &row.reason,
                });
                let targets = targets.collect();
                self.record(&Record::Ready { schema: SCHEMA, targets })
            }
            Form::Csv => self.put(table::csv_head().as_bytes()),
            _ => Ok(()),
        }
    }

    /// An interval has passed.
    pub(super) fn interval(&mut self, interval: &Interval) -> Result<()> {
        match self.arguments.format {
            Form::Text => {
                let page = match self.kind {
                    Kind::Count => {
                        let stamp = if self.look.timestamps {
                            format!("{}\n", interval.ended)
                        } else {
                            String::new()
                        };
                        let length = interval.to_ns - interval.from_ns;
                        stamp + &text::counts(&interval.targets, length, self.look) + "\n"
                    }
                    Kind::Heatmap => text::heatmap(&interval.targets, self.look),
                    Kind::Trace | Kind::Slow => text::interval(interval, self.look),
                };
                self.put(page.as_bytes())
            }
            Form::Ndjson => self.record(&Record::Interval(interval)),
            Form::Csv => self.put(table::csv(&interval.targets, interval.from_ns, interval.to_ns).as_bytes()),
            Form::Md => self.put(table::markdown_interval(interval).as_bytes()),
            Form::Json => Ok(()),
        }
    }

    /// A slow call has ended.
    pub(super) fn slow(&mut self, call: &SlowRow) -> Result<()> {
        match self.arguments.format {
            Form::Text => {
                let page = text::slow(std::slice::from_ref(call), self.look);
                self.put(page.as_bytes())
            }
            Form::Ndjson => self.record(&Record::Slow(call)),
            _ => Ok(()),
        }
    }

    /// The session is over.
    pub(super) fn end(mut self, session: &Session) -> Result<()> {
        let length = session.clock.duration_ns;
        match self.arguments.format {
            Form::Text => {
                let page = match self.kind {
                    Kind::Count => text::counts(&session.targets, length, self.look) + &self.remarks(session),
                    Kind::Heatmap => text::heatmap(&session.targets, self.look) + &self.remarks(session),
                    // Slow calls and intervals have been written.
                    Kind::Slow => text::session(&Session { slow: Vec::new(), ..session.clone() }, self.look),
                    Kind::Trace => text::session(session, self.look),
                };
                self.put(page.as_bytes())?;
            }
            Form::Json => {
                let page = document(session)?;
                self.put(&page)?;
            }
            Form::Ndjson => {
                for warning in &session.warnings {
                    self.record(&Record::Warning(warning))?;
                }
                self.record(&Record::End {
                    schema: SCHEMA,
                    interrupted: session.interrupted,
                    duration_ns: length,
                    targets: &session.targets,
                })?;
            }
            Form::Csv => self.put(table::csv(&session.targets, 0, length).as_bytes())?,
            Form::Md => self.put(table::markdown(session).as_bytes())?,
        }
        if let Some(path) = &self.arguments.save {
            file::write(path, &document(session)?)?;
        }
        match &self.arguments.output {
            Some(path) => file::write(path, &self.kept),
            None => Ok(()),
        }
    }

    /// What stands below a table of counts.
    fn remarks(&self, session: &Session) -> String {
        text::session(
            &Session { targets: Vec::new(), slow: Vec::new(), intervals: Vec::new(), ..session.clone() },
            self.look,
        )
    }
}
