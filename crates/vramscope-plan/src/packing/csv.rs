//! Reads and writes minimalloc's CSV files: problems, and offsets if a file has them.
//!
//! A header names the columns: `id,lower,upper,size` and optionally `alignment`, `offset`, `gaps`. A column `end` instead
//! of `upper` contains the last moment itself. Gaps (times at which a buffer needs nothing, or less) are checked and
//! counted but not used; a packing that ignores them is still valid.

use std::fmt;
use std::io::{Read, Write};

use ::csv::{ReaderBuilder, StringRecord, Trim, Writer};

use super::{Packing, Problem};

/// The content of a file.
#[derive(Clone, Default, Debug, PartialEq, Eq)]
pub struct Table {
    /// Name of each buffer.
    pub ids: Vec<String>,
    /// The buffers.
    pub problem: Problem,
    /// The file's offsets, if it has them.
    pub packing: Option<Packing>,
    /// Number of buffers with gaps, which are not used.
    pub with_gaps: usize,
}

/// Why a file could not be read.
#[derive(Debug, PartialEq, Eq)]
pub struct CsvError {
    /// Line of the file, from 1; 0 if the error concerns the whole file.
    pub line: u64,
    /// Name of the column; empty if the error concerns the whole line.
    pub column: String,
    /// What is wrong, and what is expected instead.
    pub what: String,
}

impl fmt::Display for CsvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.line, self.column.as_str()) {
            (0, _) => write!(f, "{}", self.what),
            (line, "") => write!(f, "line {line}: {}", self.what),
            (line, column) => write!(f, "line {line}, column {column}: {}", self.what),
        }
    }
}

impl std::error::Error for CsvError {}

/// The index of each known column.
struct Columns {
    names: StringRecord,
    id: usize,
    lower: usize,
    upper: usize,
    size: usize,
    alignment: Option<usize>,
    offset: Option<usize>,
    gaps: Option<usize>,
    /// Whether the end is part of the life.
    is_inclusive: bool,
}

/// Reads a file.
///
/// # Errors
/// If a column is missing or occurs twice, a cell is invalid, or all sizes together exceed 2^64.
pub fn read(input: impl Read) -> Result<Table, CsvError> {
    let mut reader = ReaderBuilder::new().trim(Trim::All).from_reader(input);
    let columns = Columns::of(reader.headers().map_err(unread)?)?;
    let mut table = Table::default();
    let mut offsets = Vec::new();
    let mut total: u64 = 0;
    let mut record = StringRecord::new();
    while reader.read_record(&mut record).map_err(unread)? {
        let line = record.position().map_or(0, ::csv::Position::line);
        let row = Row {
            columns: &columns,
            record: &record,
            line,
        };
        row.read(&mut table)?;
        if let Some(at) = columns.offset {
            offsets.push(row.number(at)?);
        }
        let buffer = table.ids.len() - 1;
        let needed = [
            table.problem.size[buffer],
            table.problem.alignment_of(buffer) - 1,
        ];
        for bytes in needed {
            let sum = total.checked_add(bytes);
            total = sum.ok_or_else(|| row.error(columns.size, "all sizes together exceed 2^64"))?;
        }
    }
    if table
        .problem
        .alignment
        .iter()
        .all(|&alignment| alignment == 1)
    {
        table.problem.alignment.clear();
    }
    table.packing = columns.offset.map(|_| Packing::of(&table.problem, offsets));
    Ok(table)
}

impl Columns {
    fn of(names: &StringRecord) -> Result<Self, CsvError> {
        let wrong = |what: String| CsvError {
            line: 1,
            column: String::new(),
            what,
        };
        let find = |aliases: &[&str]| {
            let mut places = (0..names.len()).filter(|&at| aliases.contains(&&names[at]));
            match (places.next(), places.next()) {
                (Some(one), Some(other)) => Err(wrong(format!(
                    "columns {} and {} mean the same; leave one out",
                    &names[one], &names[other]
                ))),
                (place, _) => Ok(place),
            }
        };
        let need = |aliases: &[&str]| {
            find(aliases)?.ok_or_else(|| {
                let aliases = aliases.join(" or ");
                wrong(format!(
                    "no column {aliases}; the header is id,lower,upper,size"
                ))
            })
        };
        let upper = need(&["upper", "end"])?;
        Ok(Self {
            id: need(&["id", "buffer", "buffer_id"])?,
            lower: need(&["lower", "begin", "start"])?,
            upper,
            size: need(&["size"])?,
            alignment: find(&["alignment"])?,
            offset: find(&["offset"])?,
            gaps: find(&["gaps"])?,
            is_inclusive: &names[upper] == "end",
            names: names.clone(),
        })
    }
}

struct Row<'a> {
    columns: &'a Columns,
    record: &'a StringRecord,
    line: u64,
}

impl Row<'_> {
    fn read(&self, table: &mut Table) -> Result<(), CsvError> {
        let Columns {
            lower, upper, size, ..
        } = *self.columns;
        let begin = self.number(lower)?;
        let end = self.end(self.number(upper)?, upper)?;
        if end < begin {
            return Err(self.error(upper, "the buffer ends before it begins"));
        }
        let alignment = match self.columns.alignment {
            Some(at) if !self.record[at].is_empty() => match self.number(at)? {
                0 => return Err(self.error(at, "an alignment is 1 or more")),
                alignment => alignment,
            },
            _ => 1,
        };
        table.ids.push(self.record[self.columns.id].to_owned());
        table.problem.lower.push(begin);
        table.problem.upper.push(end);
        table.problem.size.push(self.number(size)?);
        table.problem.alignment.push(alignment);
        if let Some(at) = self.columns.gaps {
            table.with_gaps += usize::from(self.gaps(at)? > 0);
        }
        Ok(())
    }

    fn end(&self, end: u64, column: usize) -> Result<u64, CsvError> {
        let behind = end.checked_add(u64::from(self.columns.is_inclusive));
        behind.ok_or_else(|| self.error(column, "the number is too large"))
    }

    fn number(&self, column: usize) -> Result<u64, CsvError> {
        self.parse(&self.record[column], column)
    }

    fn parse(&self, text: &str, column: usize) -> Result<u64, CsvError> {
        let wrong = |_| {
            self.error(
                column,
                format!("'{text}' is not a whole number from 0 to 2^64"),
            )
        };
        text.parse().map_err(wrong)
    }

    /// Number of gaps, each `3-5` or `3-5@0:64`, separated by spaces.
    fn gaps(&self, column: usize) -> Result<usize, CsvError> {
        let mut count = 0;
        for gap in self.record[column].split_whitespace() {
            let (time, window) = gap.split_once('@').unwrap_or((gap, "0:0"));
            for pair in [time.split_once('-'), window.split_once(':')] {
                let what = || format!("'{gap}' is not a gap; write 3-5 or 3-5@0:64");
                let (low, high) = pair.ok_or_else(|| self.error(column, what()))?;
                self.parse(low, column)?;
                self.parse(high, column)?;
            }
            count += 1;
        }
        Ok(count)
    }

    fn error(&self, column: usize, what: impl Into<String>) -> CsvError {
        CsvError {
            line: self.line,
            column: self.columns.names[column].to_owned(),
            what: what.into(),
        }
    }
}

fn unread(error: ::csv::Error) -> CsvError {
    let line = error.position().map_or(0, ::csv::Position::line);
    let what = match error.kind() {
        ::csv::ErrorKind::Utf8 { .. } => "this is not UTF-8 text".to_owned(),
        ::csv::ErrorKind::UnequalLengths {
            expected_len, len, ..
        } => {
            format!("{len} cells, but the header names {expected_len}")
        }
        ::csv::ErrorKind::Io(error) => error.to_string(),
        _ => error.to_string(),
    };
    CsvError {
        line,
        column: String::new(),
        what,
    }
}

/// Writes a problem and its offsets as minimalloc does; `alignment` only if a buffer is aligned.
///
/// # Errors
/// Those of `out`.
pub fn write(
    out: impl Write,
    ids: &[String],
    problem: &Problem,
    packing: Option<&Packing>,
) -> csv::Result<()> {
    let mut writer = Writer::from_writer(out);
    let mut header = vec!["id", "lower", "upper", "size"];
    header.extend((!problem.alignment.is_empty()).then_some("alignment"));
    header.extend(packing.map(|_| "offset"));
    writer.write_record(header)?;
    for (buffer, id) in ids.iter().enumerate() {
        let mut numbers = vec![
            problem.lower[buffer],
            problem.upper[buffer],
            problem.size[buffer],
        ];
        numbers.extend(problem.alignment.get(buffer));
        numbers.extend(packing.map(|packing| packing.offset[buffer]));
        writer.write_field(id)?;
        writer.write_record(numbers.iter().map(u64::to_string))?;
    }
    Ok(writer.flush()?)
}

#[cfg(test)]
mod tests {
    use super::super::tests::problems;
    use super::*;
    use proptest::prelude::*;

    fn table(text: &str) -> Table {
        read(text.as_bytes()).unwrap_or_else(|error| panic!("{error}"))
    }

    fn error(text: &str) -> String {
        read(text.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn aliases_mean_the_same() {
        let plain = table("id,lower,upper,size\nb1,0,3,4\nb2,3,9,4\n");
        assert_eq!(plain.ids, ["b1", "b2"]);
        assert_eq!(plain.problem.upper, [3, 9]);
        assert_eq!(
            table("size,buffer_id,end,start\r\n4,b1,2,0\r\n4,b2,8,3\r\n"),
            plain
        );
        assert_eq!(
            table("buffer, begin, upper, size\nb1, 0, 3, 4\nb2, 3, 9, 4"),
            plain
        );
        assert_eq!(
            table("id,lower,upper,size,hint,alignment\nb1,0,3,4,,1\nb2,3,9,4,-1,"),
            plain
        );
    }

    #[test]
    fn offsets_and_gaps_are_read() {
        let table = table("id,lower,upper,size,gaps,offset\nb1,0,9,4,3-5 6-7@0:2,8\nb2,3,9,4,,0\n");
        assert_eq!(table.with_gaps, 1);
        let packing = table.packing.unwrap();
        assert_eq!((packing.offset, packing.height), (vec![8, 0], 12));
    }

    #[test]
    fn errors_say_where() {
        assert_eq!(
            error(""),
            "line 1: no column upper or end; the header is id,lower,upper,size"
        );
        assert_eq!(
            error("id,lower,upper,size,end\n"),
            "line 1: columns upper and end mean the same; leave one out"
        );
        assert_eq!(
            error("id,lower,upper,size\nb1,0,3,4\nb2,0,x,4\n"),
            "line 3, column upper: 'x' is not a whole number from 0 to 2^64"
        );
        assert_eq!(
            error("id,lower,upper,size\nb1,5,3,4\n"),
            "line 2, column upper: the buffer ends before it begins"
        );
        assert_eq!(
            error("id,lower,upper,size\nb1,5\n"),
            "line 2: 2 cells, but the header names 4"
        );
        assert_eq!(
            error("id,lower,upper,size,gaps\nb1,0,3,4,2\n"),
            "line 2, column gaps: '2' is not a gap; write 3-5 or 3-5@0:64"
        );
        assert_eq!(
            error("id,lower,upper,size,alignment\nb1,0,3,4,0\n"),
            "line 2, column alignment: an alignment is 1 or more"
        );
        let most = u64::MAX;
        assert_eq!(
            error(&format!("id,lower,upper,size\na,0,1,{most}\nb,0,1,1\n")),
            "line 3, column size: all sizes together exceed 2^64"
        );
        assert_eq!(
            error(&format!("id,lower,end,size\na,0,{most},1\n")),
            "line 2, column end: the number is too large"
        );
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(problem in problems(20), is_packed in any::<bool>()) {
            let mut problem = problem;
            if problem.alignment.iter().all(|&alignment| alignment == 1) {
                problem.alignment.clear();
            }
            let ids: Vec<String> = (0..problem.size.len()).map(|i| format!("b,\"{i}")).collect();
            let packing = is_packed.then(|| super::super::tests::stacked(&problem));
            let mut text = Vec::new();
            write(&mut text, &ids, &problem, packing.as_ref()).unwrap();
            let again = read(text.as_slice()).unwrap();
            prop_assert_eq!(again, Table { ids, problem, packing, with_gaps: 0 });
        }
    }
}
