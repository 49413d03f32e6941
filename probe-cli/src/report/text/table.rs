//! Columns of a table, as wide as what they hold, and lines of words between the rows.

use super::words::{columns, hanging, left, right};

/// Widest cell that still widens its column; a wider one pushes its own line.
const WIDEST: usize = 44;

/// How a column stands.
#[derive(Clone, Copy, Debug)]
pub(super) enum Column {
    /// To the left, this many blanks after the column before.
    Left(usize),
    /// To the right, likewise.
    Right(usize),
}

enum Line {
    Cells(Vec<String>),
    Words(String),
}

/// A table without a frame. A row may stop early: its last cell then runs on over the columns that are left.
/// A column with nothing in it is not there.
pub(super) struct Table {
    columns: Vec<Column>,
    lines: Vec<Line>,
}

impl Table {
    pub(super) fn new(columns: impl Into<Vec<Column>>) -> Self {
        Self { columns: columns.into(), lines: Vec::new() }
    }

    pub(super) fn row(&mut self, cells: impl Into<Vec<String>>) {
        self.lines.push(Line::Cells(cells.into()));
    }

    /// Lines that are written as they are.
    pub(super) fn words(&mut self, words: String) {
        self.lines.push(Line::Words(words));
    }

    pub(super) fn write(&self, width: usize) -> String {
        let widths = self.widths();
        self.lines
            .iter()
            .map(|line| match line {
                Line::Cells(cells) => self.line(cells, &widths, width),
                Line::Words(words) => words.clone(),
            })
            .collect()
    }

    fn widths(&self) -> Vec<usize> {
        let mut widths = vec![0; self.columns.len()];
        for line in &self.lines {
            let Line::Cells(cells) = line else { continue };
            let whole = if cells.len() < widths.len() { cells.len().saturating_sub(1) } else { cells.len() };
            for (widest, cell) in widths.iter_mut().zip(&cells[..whole]) {
                *widest = columns(cell).clamp(*widest, WIDEST.max(*widest));
            }
        }
        widths
    }

    fn line(&self, cells: &[String], widths: &[usize], width: usize) -> String {
        let mut line = String::new();
        for (index, (cell, column)) in cells.iter().zip(&self.columns).enumerate() {
            let (Column::Left(gap) | Column::Right(gap)) = *column;
            let runs_on = index + 1 == cells.len() && cells.len() < self.columns.len();
            if runs_on {
                line += &" ".repeat(gap);
                return hanging(&line, cell, width);
            }
            if widths[index] == 0 {
                continue;
            }
            line += &" ".repeat(gap);
            line += &match column {
                Column::Left(_) => left(cell, widths[index]),
                Column::Right(_) => right(cell, widths[index]),
            };
        }
        format!("{}\n", line.trim_end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells<const N: usize>(cells: [&str; N]) -> Vec<String> {
        cells.map(str::to_owned).into()
    }

    #[test]
    fn columns_fit_what_they_hold() {
        let mut table = Table::new([Column::Left(2), Column::Right(1), Column::Right(3), Column::Left(2)]);
        table.row(cells(["", "n", "", "a heading that runs on"]));
        table.words("words\n".into());
        table.row(cells(["日本", "1", "", "x"]));
        table.row(cells(["b", "100", "", ""]));
        let heading = "a heading that runs on";
        assert_eq!(table.write(80), format!("         n  {heading}\nwords\n  日本   1  x\n  b    100\n"));
    }

    #[test]
    fn a_row_that_stops_early_widens_nothing_and_wraps() {
        let mut table = Table::new([Column::Left(0), Column::Right(2), Column::Left(2)]);
        table.row(cells(["name", "12", "x"]));
        table.row(cells(["b", "one two three four five six"]));
        assert_eq!(table.write(26), "name  12  x\nb     one two three four\n      five six\n");
    }

    #[test]
    fn a_name_without_end_pushes_its_own_line_only() {
        let mut table = Table::new([Column::Left(0), Column::Left(1)]);
        table.row(cells([&"n".repeat(50), "1"]));
        table.row(cells(["m", "2"]));
        assert_eq!(table.write(80), format!("{} 1\nm{} 2\n", "n".repeat(50), " ".repeat(43)));
    }
}
