//! Text for a terminal: made safe, measured in columns, wrapped.

use std::fmt::Write as _;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::paint::{Role, Style};

/// `text` with everything escaped that would move the cursor, change colours or reorder what is read.
#[must_use]
pub fn safe(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            character if character.is_control() || is_invisible(character) => {
                let _ = write!(out, "\\u{{{:x}}}", character as u32);
            }
            character => out.push(character),
        }
    }
    out
}

/// Line separators, marks of direction, and characters without a width or a meaning.
fn is_invisible(character: char) -> bool {
    matches!(character,
        '\u{ad}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180e}' | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// `text` made safe, its lines side by side, and cut where it would drown what is around it: a verifier's log, say.
pub(crate) fn brief(text: &str, longest: usize) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let text = safe(&lines.join(" / "));
    if text.chars().count() <= longest {
        return text;
    }
    let kept: String = text.chars().take(longest).collect();
    format!("{} … (cut; the JSON has it all)", kept.trim_end())
}

/// Columns that `text` takes.
pub(crate) fn columns(text: &str) -> usize {
    text.width()
}

/// `text` and blanks up to `width` columns.
pub(crate) fn left(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(columns(text))))
}

/// Blanks and `text`, `width` columns together.
pub(crate) fn right(text: &str, width: usize) -> String {
    format!("{}{text}", " ".repeat(width.saturating_sub(columns(text))))
}

/// `label` and `text`, wrapped at `width` columns, with later lines below the beginning of `text`.
pub(crate) fn hanging(label: &str, text: &str, width: usize) -> String {
    let indent = columns(label);
    // However narrow the terminal, a line holds something.
    let room = width.saturating_sub(indent).max(20);
    let mut out = String::new();
    for (index, line) in wrap(text, room).iter().enumerate() {
        let lead = if index == 0 { label.to_owned() } else { " ".repeat(indent) };
        let _ = writeln!(out, "{}", format!("{lead}{line}").trim_end());
    }
    out
}

/// `name` in its colour and `rest` directly behind it, wrapped, with later lines below the beginning of `rest`.
pub(super) fn named(indent: &str, name: &str, rest: &str, style: Style) -> String {
    let mut lines = hanging(indent, &format!("{name}{rest}"), style.width);
    // A name that was itself wrapped stays as it is.
    if lines.get(indent.len()..).is_some_and(|line| line.starts_with(name)) {
        lines.replace_range(indent.len()..indent.len() + name.len(), &style.paint(Role::Name, name));
    }
    lines
}

/// Each text once, in the order of their first coming, with the names that it belongs to.
pub(crate) fn gathered(pairs: impl IntoIterator<Item = (String, String)>) -> Vec<(String, Vec<String>)> {
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    for (text, name) in pairs {
        match found.iter_mut().find(|(other, _)| *other == text) {
            Some((_, names)) if names.contains(&name) => {}
            Some((_, names)) => names.push(name),
            None => found.push((text, vec![name])),
        }
    }
    found
}

fn wrap(text: &str, room: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        for piece in pieces(word, room) {
            let line = lines.last_mut().expect("there is always a line");
            if line.is_empty() {
                *line = piece;
            } else if columns(line) + 1 + columns(&piece) <= room {
                line.push(' ');
                line.push_str(&piece);
            } else {
                lines.push(piece);
            }
        }
    }
    lines
}

/// A word that is wider than the room is cut.
fn pieces(word: &str, room: usize) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut used = 0;
    for character in word.chars() {
        let width = character.width().unwrap_or(0);
        if used + width > room {
            pieces.push(String::new());
            used = 0;
        }
        pieces.last_mut().expect("there is always a piece").push(character);
        used += width;
    }
    pieces
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn nothing_reaches_the_terminal_but_what_is_seen() {
        assert_eq!(safe("plain ≥ Ünïcode 日本"), "plain ≥ Ünïcode 日本");
        assert_eq!(safe("a\"b\\c"), "a\"b\\c");
        assert_eq!(safe("x\n\t\ry"), "x\\n\\t\\ry");
        assert_eq!(safe("\x1b[31mred\x07\u{9b}m"), "\\u{1b}[31mred\\u{7}\\u{9b}m");
        assert_eq!(safe("a\u{202e}b\u{2028}c\u{200b}"), "a\\u{202e}b\\u{2028}c\\u{200b}");
    }

    #[test]
    fn long_answers_are_cut_and_say_so() {
        assert_eq!(brief("one\n\n two\x1b\n", 20), "one / two\\u{1b}");
        assert_eq!(brief("abcdef", 4), "abcd … (cut; the JSON has it all)");
    }

    #[test]
    fn wide_characters_take_two_columns() {
        assert_eq!(left("日本", 6), "日本  ");
        assert_eq!(right("日本", 6), "  日本");
    }

    #[test]
    fn long_text_hangs_below_its_beginning() {
        assert_eq!(
            hanging("  why  ", "one two three four five six", 27),
            "  why  one two three four\n       five six\n"
        );
        assert_eq!(hanging("why ", "", 80), "why\n");
        assert_eq!(
            hanging("", &"x".repeat(45), 20),
            format!("{0}\n{0}\n{1}\n", "x".repeat(20), "x".repeat(5))
        );
    }

    proptest! {
        #[test]
        fn no_line_is_wider_than_asked(text in ".{0,200}", width in 30_usize..120) {
            for line in hanging("  label  ", &safe(&text), width).lines() {
                prop_assert!(columns(line) <= width, "{line:?}");
            }
        }

        #[test]
        fn what_is_safe_has_no_control_character(text in any::<String>()) {
            let safe = safe(&text);
            prop_assert!(!safe.chars().any(char::is_control));
        }
    }
}
