//! What was typed, read: the grammar of a TARGET.

use super::family::Family;
use super::pattern::Pattern;

/// Something to trace, as somebody wrote it.
#[derive(Clone, Debug)]
pub enum Target {
    /// A family of questions.
    Family(Family),
    /// Kernel functions.
    Function(Pattern),
    /// `syscall:NAME`.
    Syscall(Pattern),
    /// `timer:FUNCTION`.
    Timer(String),
    /// `call:PRIMITIVE`.
    Call(String),
    /// `usdt:BINARY:PROVIDER:NAME`.
    Usdt {
        /// The file.
        binary: String,
        /// Who provides the site.
        provider: Pattern,
        /// Its name.
        name: Pattern,
    },
    /// `BINARY:FUNCTION`.
    User {
        /// The file.
        binary: String,
        /// Its functions.
        function: Pattern,
    },
    /// `BINARY:+OFFSET`.
    Offset {
        /// The file.
        binary: String,
        /// Of the first instruction of a function in it.
        offset: u64,
    },
}

impl Target {
    /// Reads `text`; `regex` says that names of functions are regular expressions.
    ///
    /// # Errors
    ///
    /// How it should have been written.
    pub fn parse(text: &str, regex: bool) -> Result<Self, String> {
        let pattern = |text: &str| {
            if text.is_empty() {
                Err("a name is missing".to_owned())
            } else if regex {
                Pattern::regex(text).map_err(|error| format!("that is no regular expression: {error}"))
            } else {
                Ok(Pattern::of(text))
            }
        };
        let named = |text: &str| {
            if text.is_empty() { Err("a name is missing".to_owned()) } else { Ok(text.to_owned()) }
        };
        if let Some(family) = Family::by_name(text) {
            return Ok(Self::Family(family));
        }
        match text.split_once(':') {
            None => pattern(text).map(Self::Function),
            Some(("syscall", name)) => pattern(name).map(Self::Syscall),
            Some(("timer", name)) => named(name).map(Self::Timer),
            Some(("call", name)) => named(name).map(Self::Call),
            Some(("usdt", rest)) => {
                let parts = rest.rsplit_once(':').and_then(|(rest, name)| {
                    let (binary, provider) = rest.rsplit_once(':')?;
                    Some((binary, provider, name))
                });
                let (binary, provider, name) =
                    parts.ok_or("a probe site is written usdt:BINARY:PROVIDER:NAME")?;
                Ok(Self::Usdt { binary: named(binary)?, provider: pattern(provider)?, name: pattern(name)? })
            }
            Some((binary, function)) => match function.strip_prefix("+0x") {
                Some(digits) => u64::from_str_radix(digits, 16)
                    .map(|offset| Self::Offset { binary: binary.to_owned(), offset })
                    .map_err(|_| format!("`{function}` is no offset; write one like +0x1a40")),
                None => Ok(Self::User { binary: named(binary)?, function: pattern(function)? }),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(text: &str) -> String {
        match Target::parse(text, false) {
            Ok(Target::Family(family)) => format!("family {}", family.name()),
            Ok(Target::Function(pattern)) => format!("function {}", pattern.text()),
            Ok(Target::Syscall(pattern)) => format!("syscall {}", pattern.text()),
            Ok(Target::Timer(name)) => format!("timer {name}"),
            Ok(Target::Call(name)) => format!("call {name}"),
            Ok(Target::Usdt { binary, provider, name }) => {
                format!("usdt {binary} {} {}", provider.text(), name.text())
            }
            Ok(Target::User { binary, function }) => format!("user {binary} {}", function.text()),
            Ok(Target::Offset { binary, offset }) => format!("offset {binary} {offset:#x}"),
            Err(why) => format!("error {why}"),
        }
    }

    #[test]
    fn every_form_of_the_grammar_is_read() {
        for (text, expected) in [
            ("random", "family random"),
            ("vfs_*", "function vfs_*"),
            ("syscall:getrandom", "syscall getrandom"),
            ("timer:mix_interrupt_randomness", "timer mix_interrupt_randomness"),
            ("call:bpf_probe_read_user:64", "call bpf_probe_read_user:64"),
            ("usdt:/bin/a:hotpath:batch_begin", "usdt /bin/a hotpath batch_begin"),
            ("/bin/a:copy_engine::copy", "user /bin/a copy_engine::copy"),
            ("libc.so.6:malloc", "user libc.so.6 malloc"),
            ("/bin/a:+0x1a40", "offset /bin/a 0x1a40"),
        ] {
            assert_eq!(shape(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_cut_short_says_how_it_is_written() {
        for text in ["", "syscall:", "timer:", "usdt:/bin/a:x", "/bin/a:", ":f", "/bin/a:+0xzz"] {
            assert!(Target::parse(text, false).is_err(), "{text}");
        }
        assert!(Target::parse("(", true).is_err());
    }
}
