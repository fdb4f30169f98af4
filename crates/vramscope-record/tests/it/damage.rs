//! Logs of programs that died, truncated logs, and other files.

use proptest::prelude::*;
use vramscope_record::layout::{Call, HEADER_BYTES, Kind, header};
use vramscope_record::reader::{Damage, DamageKind, Header, Log, LogErrorKind, Record};
use vramscope_record::writer::LogWriter;
use vramscope_record::{ConvertOptions, convert};

use crate::support::{BASE, MIB, Numbers, alloc, converted};

/// Notes in a log and the damage found by the reader.
fn read(bytes: &[u8], is_running: bool) -> (Vec<String>, Vec<Damage>, u64) {
    let log = Log::open(bytes).unwrap();
    let mut records = log.records(0);
    if is_running {
        records = records.while_running();
    }
    let mut notes = Vec::new();
    for (_, record) in records.by_ref() {
        if let Record::Note(note) = record {
            notes.push(String::from_utf8_lossy(note).into_owned());
        }
    }
    (notes, records.damage().to_vec(), records.offset())
}

#[test]
fn an_unfinished_record_ends_a_running_log_and_is_skipped_in_a_dead_one() {
    let mut log = LogWriter::default();
    log.note("one");
    let unfinished = log.offset();
    log.put_unfinished(100);
    log.note("two");
    let bytes = log.bytes();
    assert_eq!(
        read(&bytes, true),
        (vec!["one".to_owned()], vec![], unfinished)
    );
    let damage = Damage {
        kind: DamageKind::Unfinished,
        count: 1,
        offset: unfinished,
    };
    let both = vec!["one".to_owned(), "two".to_owned()];
    assert_eq!(read(&bytes, false), (both, vec![damage], log.offset()));
}

#[test]
fn a_record_is_found_again_behind_what_is_none() {
    let mut log = LogWriter::default();
    log.note("one");
    let garbage = log.offset();
    log.put_garbage(&[0; 200]);
    log.note("two");
    log.put_garbage(&[0xff; 40]);
    log.note("three");
    let (notes, damage, _) = read(&log.bytes(), false);
    assert_eq!(notes, ["one", "two", "three"]);
    let lost = Damage {
        kind: DamageKind::Lost,
        count: 2,
        offset: garbage,
    };
    assert_eq!(damage, [lost]);
    let notes = converted(&log).1.notes;
    let reported = format!(
        "2 stretches of the log hold no records; their events are missing (first at byte {garbage} of the log)."
    );
    assert!(notes.contains(&reported), "{notes:?}");
}

#[test]
fn the_reserve_of_a_full_log_is_no_damage() {
    let mut log = LogWriter::default();
    log.note("one");
    log.put_garbage(&[0; 64]);
    log.set_u64(header::DROPPED_RECORDS, 1);
    assert_eq!(read(&log.bytes(), false).1, []);
}

#[test]
fn nothing_is_read_where_the_file_has_no_space() {
    let mut log = LogWriter::default();
    log.note("one");
    let end = log.offset();
    // In a full file system in memory, reading beyond this would end the reader.
    log.note("two");
    log.set_u64(header::BACKED_BYTES, end);
    log.set_u64(header::DROPPED_RECORDS, 1);
    let (notes, damage, offset) = read(&log.bytes(), false);
    assert_eq!(
        (notes, damage, offset),
        (vec!["one".to_owned()], vec![], end)
    );
}

#[test]
fn what_a_newer_version_writes_is_skipped() {
    let mut log = LogWriter::default();
    log.put(Kind::Event, &[&[1; 20]]);
    log.note("one");
    let mut bytes = log.bytes();
    let (notes, damage, _) = read(&bytes, false);
    assert_eq!((notes.len(), damage[0].kind), (1, DamageKind::Malformed));
    bytes[HEADER_BYTES as usize + 4] = 200;
    assert_eq!(read(&bytes, false).1[0].kind, DamageKind::UnknownKind);
}

#[test]
fn records_that_were_taken_over_are_not_looked_for() {
    let mut log = LogWriter::default();
    log.note("one");
    let consumed = log.offset();
    log.note("two");
    log.set_u64(header::CONSUMED_OFFSET, consumed);
    assert_eq!(read(&log.bytes(), false).0, ["two"]);
    let header = Header::of(&log.bytes()).unwrap();
    assert_eq!(header.consumed_bytes(), consumed - HEADER_BYTES);
    // The snapshot does not look complete.
    let notes = converted(&log).1.notes;
    let missing = format!("{} bytes of this log's records", consumed - HEADER_BYTES);
    assert!(
        notes.iter().any(|note| note.starts_with(&missing)),
        "{notes:?}"
    );
}

#[test]
fn a_log_is_read_on_where_reading_ended() {
    let mut log = LogWriter::default();
    log.note("one");
    let (_, _, offset) = read(&log.bytes(), true);
    log.note("two");
    let bytes = log.bytes();
    let log = Log::open(&bytes).unwrap();
    let rest: Vec<_> = log.records(offset).while_running().collect();
    assert_eq!(rest, [(offset, Record::Note(b"two"))]);
}

#[test]
fn what_is_no_log_is_told_apart() {
    let error = |bytes: &[u8]| Log::open(bytes).unwrap_err();
    let short = error(&[1]);
    assert_eq!(short.kind, LogErrorKind::TooShort(1));
    assert_eq!(
        short.to_string(),
        "this is not a raw log: it has 1 bytes, and a log begins with a header of 4096 bytes"
    );
    assert_eq!(error(&[0; 8192]).kind, LogErrorKind::Unfinished);
    let pickle = error(b"\x80\x04}\x94(\x8c\x08segments");
    assert_eq!(
        pickle.to_string(),
        "this is not a raw log: it begins with the bytes 80 04 7d 94 28 8c 08 73, and a log with 56 52 41 4d 52 41 57 00"
    );
    assert!(pickle.advice().contains("open it with vramscope"));
    let mut log = LogWriter::default();
    log.set_u32(header::VERSION, 9);
    let newer = error(&log.bytes());
    assert_eq!(
        newer.to_string(),
        "this raw log is of version 9 (at byte 8); this program reads version 1"
    );
    assert!(newer.advice().starts_with("A newer"));
}

#[test]
fn however_much_of_a_log_there_is_it_is_converted() {
    let mut log = LogWriter::default();
    log.stack(1, &[1, 2, 3]);
    alloc(&mut log, Call::cuMemAlloc, BASE, MIB);
    alloc(&mut log, Call::cuMemAlloc, BASE + 2 * MIB, MIB);
    let bytes = log.bytes();
    for length in HEADER_BYTES as usize..bytes.len() {
        let options = ConvertOptions::default();
        let part = &bytes[..length];
        let (snapshot, report) =
            convert(part, &options, &mut Numbers::default(), &mut |_, _| {}).unwrap();
        crate::support::check(&snapshot, true);
        assert!(report.notes.iter().any(|note| note.contains("ends before")));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_make_the_reader_fail(
        garbage in proptest::collection::vec(any::<u8>(), 0..300),
        at in 0usize..600,
        write_offset in prop_oneof![Just(None), any::<u64>().prop_map(Some)],
        consumed in prop_oneof![Just(0), any::<u64>()],
    ) {
        let mut log = LogWriter::default();
        for index in 0..4 {
            log.note("a note");
            log.stack(index, &[1, 2, 3]);
            alloc(&mut log, Call::cuMemAlloc, BASE, MIB);
        }
        log.set_u64(header::CONSUMED_OFFSET, consumed);
        let mut bytes = log.bytes();
        if let Some(offset) = write_offset {
            let field = header::WRITE_OFFSET;
            bytes[field..field + 8].copy_from_slice(&offset.to_le_bytes());
        }
        let start = (HEADER_BYTES as usize + at).min(bytes.len());
        let end = (start + garbage.len()).min(bytes.len());
        bytes[start..end].copy_from_slice(&garbage[..end - start]);
        let options = ConvertOptions::default();
        let (snapshot, _) =
            convert(&bytes, &options, &mut Numbers::default(), &mut |_, _| {}).unwrap();
        crate::support::check(&snapshot, true);
    }
}
