//! Colour, by rule: what is judged good is green, bad red, doubtful yellow; names are bold, asides dim.

/// How to write for this reader.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// Columns of a line.
    pub width: usize,
    /// Whether escape sequences for colours may be written.
    pub colour: bool,
}

/// What a piece of text is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Role {
    Name,
    Aside,
    Good,
    Bad,
    Doubtful,
}

impl Style {
    /// No colours, a hundred columns: what a pipe gets.
    pub const PLAIN: Self = Self { width: 100, colour: false };

    /// `text` in the colour of its role. Measure before painting: escape sequences have no width.
    pub(crate) fn paint(self, role: Role, text: &str) -> String {
        if !self.colour || text.is_empty() {
            return text.to_owned();
        }
        let code = match role {
            Role::Name => "1",
            Role::Aside => "2",
            Role::Good => "32",
            Role::Bad => "31",
            Role::Doubtful => "33",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}
