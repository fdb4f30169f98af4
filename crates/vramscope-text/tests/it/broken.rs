//! Texts that are cut, wrapped, prefixed and doubled give the same or less, never something else.

use std::io::Write as _;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use vramscope_text::{
    Class, Failure, Reader, Reading, Report, conclude, notes, read, read_from, whole,
};

use super::{threads, threads_in};

/// The classes of a reading's failures, except `unknown`.
fn classes(reading: &Reading) -> Vec<Class> {
    let causes = reading.records.iter().filter_map(conclude);
    let classes = causes.flat_map(|told| told.causes.into_iter().map(|cause| cause.class));
    let mut classes: Vec<_> = classes.filter(|class| *class != Class::Unknown).collect();
    classes.sort_unstable();
    classes.dedup();
    classes
}

/// The figures of all failures, as printed.
fn figures(reading: &Reading) -> Vec<String> {
    let failures = reading
        .records
        .iter()
        .filter_map(|record| match &record.report {
            Report::Failure(failure) => Some(failure),
            _ => None,
        });
    failures.flat_map(|failure| texts(failure)).collect()
}

fn texts(failure: &Failure) -> Vec<String> {
    let figures = [
        ("requested", &failure.requested),
        ("total", &failure.total),
        ("free", &failure.free),
        ("allowed", &failure.allowed),
        ("in use", &failure.in_use),
        ("allocated", &failure.allocated),
        ("in pools", &failure.in_pools),
        ("unallocated", &failure.unallocated),
        ("elsewhere", &failure.elsewhere),
    ];
    let told = figures
        .iter()
        .filter_map(|(name, figure)| Some(format!("{name} {}", figure.as_ref()?.text)));
    told.collect()
}

/// Fails if `less` reports anything that `whole` does not.
fn same_or_less(less: &[u8], whole: &Reading) -> Result<(), TestCaseError> {
    let reading = read(less);
    let (told, known) = (figures(&reading), figures(whole));
    for figure in &told {
        prop_assert!(
            known.contains(figure),
            "{figure} of {known:?} in {}",
            String::from_utf8_lossy(less)
        );
    }
    let known = classes(whole);
    for class in classes(&reading) {
        prop_assert!(
            known.contains(&class),
            "{class:?} of {known:?} in {}",
            String::from_utf8_lossy(less)
        );
    }
    Ok(())
}

fn any_thread() -> impl Strategy<Value = String> {
    let texts = threads().into_iter().map(|thread| thread.text);
    // Cut off in the middle, this one equals another text: an error of the device looks like one of the computer.
    let texts = texts.filter(|text| !text.contains("std::bad_alloc: CUDA"));
    prop::sample::select(texts.collect::<Vec<String>>())
}

/// Also those of which a part tells what the whole one does not: llama.cpp tells a failure in two ways.
fn any_judged() -> impl Strategy<Value = String> {
    let judged = threads_in("judged.txt")
        .into_iter()
        .map(|thread| thread.text);
    let judged = prop::sample::select(judged.collect::<Vec<String>>());
    prop_oneof![any_thread(), judged]
}

/// A place to cut a text, outside of numbers: half a number with a unit or a word behind it looks like a whole one.
fn place(text: &[u8], share: f64) -> usize {
    let place = (text.len() as f64 * share) as usize;
    let is_number = |byte: &&u8| byte.is_ascii_digit() || **byte == b'.';
    place + text[place..].iter().take_while(is_number).count()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn cut_texts_tell_less(text in any_thread(), from in 0.0..1.0, to in 0.0..1.0) {
        let text = text.as_bytes();
        let (from, to) = (place(text, f64::min(from, to)), place(text, f64::max(from, to)));
        same_or_less(&text[..to], &read(text))?;
        same_or_less(&text[from..to], &read(text))?;
    }

    #[test]
    fn wrapped_texts_tell_the_same(text in any_thread(), width in 20_usize..200, prefix in prop::sample::select(vec!["", "> ", "[rank1]: ", "2025-11-14T08:52:38.37Z "])) {
        // Blank lines remain, because a table or list needs its lines.
        let lines = text.lines().map(|line| line.as_bytes().chunks(width).collect::<Vec<_>>().join(format!("\n{prefix}").as_bytes()));
        let wrapped: Vec<u8> = lines.collect::<Vec<_>>().join(format!("\n{prefix}").as_bytes());
        same_or_less(&wrapped, &read(text.as_bytes()))?;
    }

    #[test]
    fn doubled_texts_tell_the_same(text in any_thread(), cut in 0.0..1.0) {
        let bytes = text.as_bytes();
        let part = &bytes[..place(bytes, cut)];
        // Cut off in the middle, followed by the complete text.
        let doubled = [part, b"\n", bytes].concat();
        same_or_less(&doubled, &read(bytes))?;
        let whole = read(&[bytes, bytes].concat());
        prop_assert_eq!(classes(&whole), classes(&read(bytes)));
    }

    #[test]
    fn texts_one_after_the_other_tell_what_each_tells(texts in prop::collection::vec(any_thread(), 2..8)) {
        let together = read(texts.concat().as_bytes());
        let mut each: Vec<_> = texts.iter().flat_map(|text| classes(&read(text.as_bytes()))).collect();
        each.sort_unstable();
        each.dedup();
        prop_assert_eq!(classes(&together), each);
        let mut figures_of_each: Vec<_> = texts.iter().flat_map(|text| figures(&read(text.as_bytes()))).collect();
        let mut figures_together = figures(&together);
        for figures in [&mut figures_of_each, &mut figures_together] {
            figures.sort_unstable();
            figures.dedup();
        }
        prop_assert_eq!(figures_together, figures_of_each);
    }

    #[test]
    fn pieces_do_not_matter(texts in prop::collection::vec(any_judged(), 1..30), size in 1_usize..5000, filler in 0_usize..40_000) {
        let mut text = Vec::new();
        for part in &texts {
            text.extend(b"an ordinary line of a log\n".iter().cycle().take(filler / 26 * 26));
            text.extend(part.as_bytes());
        }
        let mut reader = Reader::default();
        text.chunks(size).for_each(|piece| reader.feed(piece));
        prop_assert_eq!(reader.finish(), read(&text));
    }

    #[test]
    fn any_bytes_are_read(mut bytes in prop::collection::vec(any::<u8>(), 0..400), text in any_judged(), at in any::<prop::sample::Index>()) {
        let place = at.index(bytes.len() + 1);
        bytes.splice(place..place, text.bytes());
        let reading = read(&bytes);
        for record in &reading.records {
            if let Some(told) = conclude(record) {
                prop_assert!(!told.causes.is_empty());
            }
        }
    }
}

#[test]
fn long_texts_find_all_and_keep_little() {
    let line = "CUDA out of memory. Tried to allocate 2.00 MiB. GPU 1 has a total capacity of 23.65 GiB of which 5.00 MiB is free.\n";
    let mut reader = Reader::default();
    let filler = "step 12 | loss 0.31 | lr 1e-4 | an ordinary line of a log\n".repeat(20_000);
    for rank in 0..8 {
        reader.feed(filler.as_bytes());
        reader.feed(format!("[rank{rank}]: {line}").as_bytes());
    }
    let reading = reader.finish();
    let lines: Vec<_> = reading.records.iter().map(|record| record.line).collect();
    let expected: Vec<_> = (1..=8).map(|rank| rank * 20_001).collect();
    assert_eq!(lines, expected);
    assert_eq!(reading.lines, 8 * 20_001);
}

/// Words of tables without a table cost no more than a line each: the time grows as the text does.
#[test]
fn many_words_of_tables_are_read_in_time() {
    let one = "| Persistence-M |\n".repeat(60_000);
    let many = format!("{}|\n{}", "| Persistence-M ".repeat(60), "|\n".repeat(399)).repeat(600);
    let logs = "GiB(".repeat(250_000);
    let start = Instant::now();
    for text in [one, many, logs] {
        assert!(read(text.as_bytes()).records.is_empty());
    }
    assert!(
        start.elapsed() < Duration::from_secs(5),
        "{:?}",
        start.elapsed()
    );
}

/// A long log with two errors, compressed.
fn compressed() -> (String, Vec<u8>) {
    let steps =
        |from: u32| (from..from + 20_000).map(|step| format!("step {step} loss {}\n", step % 97));
    let error = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.10 GiB of which \
                 1.00 GiB is free. Of the allocated memory 70.00 GiB is allocated by PyTorch, and 1.00 GiB is reserved by PyTorch but unallocated.\n";
    let text: String = steps(0)
        .chain([error.to_owned()])
        .chain(steps(20_000))
        .chain([error.replace("2.00", "3.00")])
        .collect();
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(text.as_bytes()).unwrap();
    (text, gzip.finish().unwrap())
}

#[test]
fn a_compressed_log_is_read_like_a_plain_one() {
    let (text, gzip) = compressed();
    let mut done_bytes = 0;
    let reading = read_from(&*gzip, |bytes| done_bytes = bytes).unwrap();
    assert_eq!(reading, read(text.as_bytes()));
    assert_eq!(done_bytes, gzip.len() as u64);
}

#[test]
fn what_comes_before_damage_is_read() {
    let (_, gzip) = compressed();
    let reading = read_from(&gzip[..gzip.len() * 3 / 4], |_| {}).unwrap();
    assert_eq!(reading.records.len(), 1);
    assert!(reading.broken_off.is_some());
    let notes = notes(&reading, &whole(&reading));
    assert!(
        notes.iter().any(|note| note.contains("could be read")),
        "{notes:?}"
    );
    assert!(read_from(&gzip[..11], |_| {}).is_err());
}
