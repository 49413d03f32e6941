//! How far a run is, on standard error, for somebody who looks.

use std::{
    io::{self, IsTerminal},
    time::Duration,
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::Words;

/// The bar of one experiment; gone when dropped.
pub(super) struct Bar(ProgressBar);

impl Bar {
    pub(super) fn new(words: Words, name: &str) -> Self {
        let bar = ProgressBar::no_length();
        if words.quiet || !io::stderr().is_terminal() {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        } else {
            bar.enable_steady_tick(Duration::from_millis(200));
        }
        let style = ProgressStyle::with_template("{prefix}  {bar:30} launch {pos} of {len}, {elapsed}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.set_prefix(name.to_owned());
        Self(bar)
    }

    /// How far attaching is.
    pub(super) fn attaching(words: Words) -> Self {
        let bar = Self::new(words, "attaching");
        let style = ProgressStyle::with_template("{prefix} {pos} of {len}, Ctrl-C stops it");
        bar.0.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar
    }

    pub(super) fn set(&self, done: u64, all: u64) {
        self.0.set_length(all);
        self.0.set_position(done);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
