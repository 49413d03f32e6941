//! The words of Rust code, without those in comments and in strings.

/// Each word with the number of its line.
pub(super) fn words(code: &str) -> Vec<(usize, &str)> {
    let mut words = Vec::new();
    let mut at = 0;
    let mut line = 1;
    while at < code.len() {
        let rest = &code[at..];
        let length = match rest.as_bytes() {
            [b'/', b'/', ..] => rest.find('\n').unwrap_or(rest.len()),
            [b'/', b'*', ..] => block_comment(rest),
            [b'"', ..] => 1 + string(&rest[1..]),
            [b'\'', ..] => character(rest),
            _ => {
                let word = word(rest);
                match raw_string(&rest[word..]).filter(|_| matches!(&rest[..word], "r" | "br" | "cr")) {
                    Some(raw) => word + raw,
                    None if word > 0 => {
                        words.push((line, &rest[..word]));
                        word
                    }
                    None => rest.chars().next().map_or(1, char::len_utf8),
                }
            }
        };
        line += rest[..length].matches('\n').count();
        at += length;
    }
    words
}

fn word(text: &str) -> usize {
    text.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(text.len())
}

/// Comments nest.
fn block_comment(text: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < text.len() {
        match &text.as_bytes()[at..] {
            [b'/', b'*', ..] => {
                depth += 1;
                at += 2;
            }
            [b'*', b'/', ..] => {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    break;
                }
            }
            _ => at += 1,
        }
    }
    at
}

/// Up to and with the closing quote.
fn string(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'"' if !escaped => return at + 1,
            b'\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    text.len()
}

/// `#"..."#` with any number of hashes, after its `r`.
fn raw_string(text: &str) -> Option<usize> {
    let hashes = text.len() - text.trim_start_matches('#').len();
    let content = text[hashes..].strip_prefix('"')?;
    let closing = format!("\"{}", &text[..hashes]);
    let end = content.find(&closing).map_or(content.len(), |at| at + closing.len());
    Some(hashes + 1 + end)
}

/// A character between quotes; a lifetime is only its quote, and its name a word.
fn character(text: &str) -> usize {
    let mut characters = text.char_indices().skip(1);
    match (characters.next(), characters.next()) {
        (Some((_, '\\')), Some((at, escaped))) => {
            let from = at + escaped.len_utf8();
            text[from..].find('\'').map_or(text.len(), |end| from + end + 1)
        }
        (Some(_), Some((at, '\''))) => at + 1,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only_words(code: &str) -> Vec<&str> {
        words(code).into_iter().map(|(_, word)| word).collect()
    }

    #[test]
    fn comments_and_strings_have_no_words() {
        assert_eq!(only_words("a // b\nc /* d /* e */ f */ g"), ["a", "c", "g"]);
        assert_eq!(only_words(r#"a "b \" c" d"#), ["a", "d"]);
        assert_eq!(only_words(r###"a r#"b " c"# d br"e" f"###), ["a", "d", "f"]);
        assert_eq!(only_words("\"never closed"), [""; 0]);
    }

    #[test]
    fn quotes_of_characters_and_of_lifetimes_are_told_apart() {
        assert_eq!(only_words(r"f('x') g('\'') h('\\') i('\u{e9}') j('é')"), ["f", "g", "h", "i", "j"]);
        assert_eq!(only_words("fn f<'a>(x: &'a str) {}"), ["fn", "f", "a", "x", "a", "str"]);
        assert_eq!(only_words("m('\"') n"), ["m", "n"]);
    }

    #[test]
    fn a_raw_name_is_not_a_raw_string() {
        assert_eq!(only_words("r#type r"), ["r", "type", "r"]);
    }

    #[test]
    fn lines_are_counted_through_strings_and_comments() {
        assert_eq!(words("/* 1\n2 */ a \"3\n\" b\n\nc"), [(2, "a"), (3, "b"), (5, "c")]);
    }
}
