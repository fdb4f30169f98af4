//! Containers cut short and damaged.

use super::*;
use crate::model::WarningKind;

#[test]
fn every_cut_is_named() {
    let pickle = pickle();
    for whole in [
        gzip(&pickle),
        zstd(&pickle),
        html(&pickle),
        one_in_zip(&pickle),
        zip(Sizes::InDescriptor, &[("a", &pickle, false)]),
    ] {
        let cuts = (1..120)
            .chain((120..whole.len() - 40).step_by(50_021))
            .chain([whole.len() / 2]);
        for cut in cuts {
            match read(&whole[..cut]) {
                // The rest may be too short to be recognised.
                Err(
                    ErrorKind::Truncated(_) | ErrorKind::UnknownFormat | ErrorKind::NotASnapshot(_),
                ) => {}
                other => panic!("cut at {cut}: {:?}", other.map(|(out, ..)| out.len())),
            }
        }
    }
}

#[test]
fn damage_is_an_error_or_changes_nothing() {
    let pickle = pickle();
    for whole in [
        gzip(&pickle),
        zstd(&pickle),
        one_in_zip(&pickle),
        zip(Sizes::InDescriptor, &[("a", &pickle, true)]),
    ] {
        for at in (0..whole.len()).step_by(whole.len() / 60 + 1) {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x55;
            if let Ok((out, ..)) = read(&damaged) {
                assert!(out == pickle || out.is_empty(), "byte {at}");
            }
        }
    }
}

#[test]
fn damage_is_where_it_is_however_the_bytes_arrive() {
    struct Pieces<'a>(&'a [u8], usize);
    impl Read for Pieces<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let most = self.1.min(out.len());
            self.0.read(&mut out[..most])
        }
    }
    let pickle = &pickle()[..40_000];
    let in_pieces = |file: &[u8], piece: usize| {
        let mut out = Vec::new();
        let end = unwrap(Pieces(file, piece), &Limits::default()).map(|mut unwrapped| {
            unwrapped
                .input
                .read_to_end(&mut out)
                .map_err(|error| kind_of(&error))
        });
        (end.map_err(|error| (error.kind, error.head)), out)
    };
    for whole in [
        gzip(pickle),
        zstd(pickle),
        one_in_zip(pickle),
        zip(Sizes::InDescriptor, &[("a", pickle, true)]),
        zip(Sizes::InHeader, &[("a", pickle, true)]),
    ] {
        let places = (0..60).chain((60..whole.len()).step_by(whole.len() / 20));
        for at in places {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x55;
            let at_once = in_pieces(&damaged, usize::MAX);
            for piece in [1, 7, 1000] {
                let (end, out) = in_pieces(&damaged, piece);
                assert_eq!(
                    (&end, out.len()),
                    (&at_once.0, at_once.1.len()),
                    "byte {at} by {piece}"
                );
                assert!(out == at_once.1, "byte {at} by {piece}");
            }
        }
    }
}

#[test]
fn a_damaged_end_costs_nothing() {
    let snapshot = b"\x80\x04}\x94(\x8c\x08segments\x94]\x94\x8c\x0ddevice_traces\x94]\x94u.";
    for (wrapped, most) in [
        (gzip(snapshot), 8),
        (zstd(snapshot), 4),
        (zstd(&[&snapshot[..], &[0; 300_000]].concat()), 4),
        (one_in_zip(snapshot), 22),
    ] {
        for cut in 1..=most {
            let decoded = crate::decode(&wrapped[..wrapped.len() - cut]).unwrap();
            assert_eq!(warned(&decoded), [WarningKind::DamagedEnd], "{cut}");
        }
    }
    // More than the check sum.
    let cut = zstd(snapshot);
    let error = crate::decode(&cut[..cut.len() - 5]).err().unwrap();
    assert!(matches!(error.kind, ErrorKind::Truncated(_)), "{error}");
}

#[test]
fn damage_to_further_files_of_a_page_is_a_warning() {
    let snapshot = b"\x80\x04}\x94(\x8c\x08segments\x94]\x94\x8c\x0ddevice_traces\x94]\x94u.";
    let page = own_html(&[snapshot, b"a second one"]);
    let second = page.len() - "</script>\n".len() - 4;
    let mut flipped = page.clone();
    flipped[second] = b'!';
    for (page, kinds) in [
        (&page[..], vec![WarningKind::FurtherFiles]),
        (
            &page[..second],
            vec![WarningKind::DamagedEnd, WarningKind::FurtherFiles],
        ),
        (
            &flipped,
            vec![WarningKind::DamagedEnd, WarningKind::FurtherFiles],
        ),
    ] {
        assert_eq!(warned(&crate::decode(page).unwrap()), kinds);
    }
}

#[test]
fn damage_behind_the_snapshot_of_an_archive_is_a_warning() {
    let snapshot = b"\x80\x04}\x94(\x8c\x08segments\x94]\x94\x8c\x0ddevice_traces\x94]\x94u.";
    let notes = [7; 500];
    for sizes in [Sizes::InHeader, Sizes::InDescriptor, Sizes::Zip64] {
        let files: [(&str, &[u8], bool); 3] = [
            ("snapshot.pickle", snapshot, true),
            ("notes.bin", &notes, false),
            ("more.bin", &notes, true),
        ];
        let whole = zip(sizes, &files);
        let start = zip(sizes, &files[..1]).len() - 22;
        let second = start + 30 + "notes.bin".len() + 40;
        for sound in [whole.clone(), [&whole[..], &[0; 100]].concat()] {
            assert_eq!(warned(&crate::decode(&sound[..]).unwrap()), []);
        }
        for cut in [start, start + 2, second, whole.len() - 22, whole.len() - 1] {
            let decoded = crate::decode(&whole[..cut]).unwrap();
            assert_eq!(
                warned(&decoded),
                [WarningKind::DamagedEnd],
                "{sizes:?} {cut}"
            );
        }
        for at in [start, second] {
            let mut flipped = whole.clone();
            flipped[at] ^= 1;
            let decoded = crate::decode(&flipped[..]).unwrap();
            assert_eq!(
                warned(&decoded),
                [WarningKind::DamagedEnd],
                "{sizes:?} {at}"
            );
        }
    }
}

fn warned(snapshot: &crate::Snapshot) -> Vec<WarningKind> {
    let warnings = snapshot.warnings.list().iter();
    warnings.map(|warning| warning.kind.clone()).collect()
}
