//! Tables: `torch.cuda.memory_summary()`, nvidia-smi, npu-smi.

use crate::cursor::Cursor;
use crate::figure::Figure;
use crate::record::{DeviceUse, Process, Summary};

/// Most lines of a table, and the longest line in bytes.
const MOST_LINES: usize = 400;
const LONGEST_LINE: usize = 1000;

/// The lines of a table, including their ends.
fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut at = 0;
    let lines = std::iter::from_fn(move || {
        let rest = &text[at..text.len().min(at + LONGEST_LINE)];
        let line = match memchr::memchr(b'\n', rest) {
            Some(end) => &rest[..=end],
            // Longer than any line of a table, or the last line.
            None if rest.len() == LONGEST_LINE => return None,
            None => rest,
        };
        at += line.len();
        (!line.is_empty()).then_some(line)
    });
    lines.take(MOST_LINES)
}

/// `memory_summary()`, starting at the line with its title, and its length in bytes.
pub(crate) fn summary(text: &[u8]) -> Option<(Summary, usize)> {
    let mut summary = Summary {
        device: None,
        failures: None,
        retries: None,
        allocated: None,
        peak_allocated: None,
        reserved: None,
        peak_reserved: None,
        not_releasable: None,
    };
    let (mut at, mut end) = (0, 0);
    for line in lines(text) {
        if at > 0 && memchr::memmem::find(line, b"memory summary").is_some() {
            break;
        }
        let cells: Vec<Vec<u8>> = cells(line);
        let cell = |place: usize| cells.get(place).map_or(&[][..], Vec::as_slice);
        let figure = |place: usize| Cursor::new(cell(place)).figure();
        let whole: Vec<u8> = cells.concat();
        let number = |head| Cursor::behind(&whole, head).and_then(|mut it| it.number());
        if memchr::memmem::find(&whole, b"memorysummary").is_some() {
            summary.device = number("deviceID");
        }
        match cell(0) {
            head if head.starts_with(b"CUDAOOMs:") => {
                summary.failures = number("CUDAOOMs:");
                summary.retries = number("cudaMallocretries:");
            }
            b"Allocatedmemory" => {
                (summary.allocated, summary.peak_allocated) = (figure(1), figure(2));
            }
            b"GPUreservedmemory" => {
                (summary.reserved, summary.peak_reserved) = (figure(1), figure(2));
            }
            b"Non-releasablememory" => summary.not_releasable = figure(1),
            _ => {}
        }
        // A row of a table has bars, and so has the rest of the table.
        if !line.contains(&b'|') {
            break;
        }
        at += line.len();
        if summary.reserved.is_some() || summary.allocated.is_some() {
            end = at;
        }
    }
    (summary.allocated.is_some() || summary.reserved.is_some()).then_some((summary, end))
}

/// The cells of a row between bars, without white space, and without empty ones at either end.
fn cells(line: &[u8]) -> Vec<Vec<u8>> {
    let cells = line.split(|&byte| byte == b'|');
    let cells = cells.map(|cell| {
        let letters = cell.iter().filter(|byte| !byte.is_ascii_whitespace());
        letters.copied().collect::<Vec<u8>>()
    });
    cells.filter(|cell| !cell.is_empty()).collect()
}

/// One of the names of nvidia-smi's columns.
const COLUMNS: &[u8] = b"Persistence-M";

/// The devices of nvidia-smi, starting at the line with its name or the columns' names, and the length in bytes.
pub(crate) fn nvidia_smi(text: &[u8]) -> Option<(Vec<DeviceUse>, usize)> {
    let mut devices: Vec<DeviceUse> = Vec::new();
    let (mut at, mut end, mut number) = (0, 0, None);
    let mut begins_with_columns = false;
    for line in lines(text) {
        let words: Vec<&[u8]> = words(line);
        let has = |word: &[u8]| memchr::memmem::find(line, word).is_some();
        // The columns' names follow the table's own, unless it has none.
        let is_columns = has(COLUMNS);
        let is_new = is_columns && (begins_with_columns || !devices.is_empty());
        begins_with_columns |= at == 0 && is_columns;
        let is_next = at > 0 && (is_new || has(b"NVIDIA-SMI"));
        // Of its first line, the first bar may be missing.
        if is_next || !(at == 0 || words.is_empty() || is_of_table(line)) {
            break;
        }
        at += line.len();
        if let Some((used, total)) = two_sizes(line) {
            if let Some(device) = number.take() {
                let processes = Vec::new();
                devices.push(DeviceUse {
                    device,
                    used,
                    total,
                    processes,
                });
                end = at;
            }
        } else if let Some((device, process)) = process(&words) {
            let known = devices.iter_mut().find(|known| known.device == device);
            if let Some(known) = known {
                known.processes.push(process);
                end = at;
            }
        } else if let Some(first) = words.get(1).and_then(|word| whole(word)) {
            number = Some(first);
        }
    }
    (!devices.is_empty()).then_some((devices, end))
}

fn is_of_table(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    line.starts_with(b"|") || line.starts_with(b"+")
}

fn words(line: &[u8]) -> Vec<&[u8]> {
    let words = line.split(u8::is_ascii_whitespace);
    words.filter(|word| !word.is_empty()).collect()
}

fn whole(word: &[u8]) -> Option<u64> {
    str::from_utf8(word).ok()?.parse().ok()
}

/// `14214MiB / 24564MiB`
fn two_sizes(line: &[u8]) -> Option<(Figure, Figure)> {
    let compact: Vec<u8> = line
        .iter()
        .copied()
        .filter(|byte| !byte.is_ascii_whitespace())
        .collect();
    let at = memchr::memmem::find(&compact, b"MiB/")?;
    let digits = compact[..at].iter().rev();
    let digits = digits.take_while(|byte| byte.is_ascii_digit()).count();
    let mut cursor = Cursor::new(&compact);
    cursor.at = at - digits;
    let used = cursor.figure()?;
    cursor.eat("/")?;
    Some((used, cursor.figure()?))
}

/// `|    0   N/A  N/A      1234      C   python     20000MiB |`, also of old drivers without instances.
fn process(words: &[&[u8]]) -> Option<(u64, Process)> {
    let [.., size, b"|"] = words else {
        return None;
    };
    let (held, length) = Figure::at(size)?;
    if length != size.len() {
        return None;
    }
    let device = words.get(1).and_then(|word| whole(word))?;
    let rest = words.get(2..words.len() - 2)?;
    let place = rest.iter().position(|word| whole(word).is_some())?;
    let kind = rest.get(place + 1)?;
    if ![&b"C"[..], b"G", b"C+G", b"M+C"].contains(kind) {
        return None;
    }
    let name = rest.get(place + 2..)?.join(&b' ');
    Some((
        device,
        Process {
            pid: whole(rest[place])?,
            held,
            name: String::from_utf8_lossy(&name).into_owned(),
        },
    ))
}

/// The devices of npu-smi, starting at the line with its name, and the length in bytes. Devices have the numbers that
/// programs use.
pub(crate) fn npu_smi(text: &[u8]) -> Option<(Vec<DeviceUse>, usize)> {
    let mut devices: Vec<DeviceUse> = Vec::new();
    // The board and the chip of each, by which processes are listed.
    let (mut chips, mut board): (Vec<[u64; 2]>, u64) = (Vec::new(), 0);
    let (mut at, mut end) = (0, 0);
    for line in lines(text) {
        let is_next = at > 0 && memchr::memmem::find(line, b"npu-smi ").is_some();
        if is_next || !words(line).is_empty() && !is_of_table(line) {
            break;
        }
        at += line.len();
        let cells: Vec<&[u8]> = line.trim_ascii().split(|&byte| byte == b'|').collect();
        let numbers = |place: usize| -> Vec<u64> {
            let cell = cells.get(place).copied().unwrap_or_default();
            words(cell).into_iter().filter_map(whole).collect()
        };
        let is_bus = cells
            .get(2)
            .is_some_and(|bus| memchr::memchr_iter(b':', bus).count() == 2);
        match (&numbers(1)[..], &numbers(2)[..], cells.len()) {
            // `| 0  0 | 0000:9D:00.0 | 0  0 / 0  3416 / 65536 |`
            ([chip, rest @ ..], _, 5) if is_bus => {
                let Some((used, total)) = last_pair(cells[3]) else {
                    continue;
                };
                let in_order = devices.len() as u64;
                devices.push(DeviceUse {
                    device: rest.first().copied().unwrap_or(in_order),
                    used,
                    total,
                    processes: Vec::new(),
                });
                chips.push([board, *chip]);
                end = at;
            }
            // `| 0  0 | 632268 | python3.1 | 197 |`
            (&[board, chip], &[pid], 6..) => {
                let place = chips.iter().position(|known| *known == [board, chip]);
                let held = numbers(4).first().copied().and_then(megabytes);
                if let (Some(place), Some(held)) = (place, held) {
                    devices[place].processes.push(Process {
                        pid,
                        held,
                        name: String::from_utf8_lossy(cells[3].trim_ascii()).into_owned(),
                    });
                    end = at;
                }
            }
            // `| 0  Ascend910 | OK | …`
            ([first, ..], ..) => board = *first,
            _ => {}
        }
    }
    (!devices.is_empty()).then_some((devices, end))
}

fn megabytes(number: u64) -> Option<Figure> {
    Figure::plain_at(number.to_string().as_bytes(), "MB").map(|(figure, _)| figure)
}

/// The last two numbers around a slash: large ones touch it.
fn last_pair(cell: &[u8]) -> Option<(Figure, Figure)> {
    let slash = memchr::memrchr(b'/', cell)?;
    let last = |text| words(text).last().and_then(|word| whole(word));
    Some((
        megabytes(last(&cell[..slash])?)?,
        megabytes(last(&cell[slash + 1..])?)?,
    ))
}
