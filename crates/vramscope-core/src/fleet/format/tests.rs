use proptest::prelude::*;

use super::*;
use crate::container::FileKind;
use crate::fleet::arbitrary::fleets;
use crate::fleet::{Rank, Source};

fn read(file: &[u8]) -> Result<Fleet, ErrorKind> {
    decode(file, &Limits::default())
}

/// A file with this body.
fn packed(body: &[u8]) -> Vec<u8> {
    let mut file = [&FLEET[..], &[VERSION]].concat();
    let mut zlib = ZlibEncoder::new(&mut file, Compression::fast());
    zlib.write_all(body).unwrap();
    zlib.finish().unwrap();
    file
}

/// The body of a file.
fn body(fleet: &Fleet) -> Vec<u8> {
    let mut codec = Codec::writer();
    columns::fleet(&mut codec, &mut fleet.clone()).unwrap();
    codec.written().to_vec()
}

#[test]
fn nothing_at_all_is_a_fleet_too() {
    let file = encode(&Fleet::default());
    assert_eq!(read(&file), Ok(Fleet::default()));
    assert_eq!(FileKind::of(&file), FileKind::Fleet);
}

/// What the reader takes a rank for at least.
#[test]
fn a_rank_takes_the_bytes_that_are_counted_on() {
    let one = Fleet {
        ranks: vec![Rank::default()],
        ..Fleet::default()
    };
    assert!(body(&one).len() - body(&Fleet::default()).len() >= 32);
}

#[test]
fn what_is_no_fleet_is_told_apart() {
    let is = |file: &[u8], expected: &str| {
        let error = read(file).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    let file = encode(&Fleet::default());
    is(b"", "no memory snapshot");
    is(b"\x93vram\r\n\n\x01", "no memory snapshot");
    is(&file[..8], "ends early");
    is(&[&FLEET[..], &[VERSION + 1]].concat(), "version 2");
    is(&file[..file.len() - 1], "zlib");
    is(&packed(&[0; 3]), "ends early");
    is(&packed(&[0; 5]), "more after the end");
    // More ranks than there are bytes.
    is(&packed(&[0, 0, 0, 0xff, 0xff, 0x7f, 0, 0]), "ends early");
}

/// A small file that unpacks to very much costs no more than the limits.
#[test]
fn bombs_are_refused() {
    let mut body = vec![0, 0, 0];
    // As many empty ranks as the zeros that follow may stand for.
    body.extend([0x80, 0x80, 0x80, 0x01]);
    body.resize(100 << 20, 0);
    let file = packed(&body);
    assert!(file.len() < 1 << 20);
    let error = read(&file).unwrap_err();
    assert!(matches!(error, ErrorKind::Limit { .. }), "{error}");
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(fleet in fleets(6)) {
        prop_assert_eq!(read(&encode(&fleet)), Ok(fleet));
    }

    #[test]
    fn damaged_bytes_do_no_harm(
        fleet in fleets(4),
        places in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        end in any::<prop::sample::Index>(),
    ) {
        let mut body = body(&fleet);
        for (place, byte) in places {
            let place = place.index(body.len());
            body[place] = byte;
        }
        // Whatever is read can be written and read again.
        if let Ok(read_fleet) = read(&packed(&body)) {
            prop_assert_eq!(read(&encode(&read_fleet)), Ok(read_fleet));
        }
        body.truncate(end.index(body.len()));
        let _result = read(&packed(&body));
        let mut file = encode(&fleet);
        let place = end.index(file.len());
        file[place] ^= 0x55;
        let _result = read(&file);
    }

    #[test]
    fn random_bytes_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _result = read(&bytes);
        let _result = read(&packed(&bytes));
    }

    #[test]
    fn merging_goes_in_any_order_of_parts(a in fleets(4), b in fleets(4), c in fleets(4)) {
        let merge = |parts: [&Fleet; 2]| Fleet::of_all(parts.map(Clone::clone));
        let all = Fleet::of_all([a.clone(), b.clone(), c.clone()]);
        prop_assert_eq!(&merge([&merge([&a, &b]), &c]), &all);
        prop_assert_eq!(&merge([&a, &merge([&b, &c])]), &all);
        prop_assert_eq!(merge([&all, &all]), all.clone());
        prop_assert_eq!(merge([&all, &Fleet::default()]), all);
    }
}

#[test]
fn the_newer_file_of_two_counts() {
    let of = |modified_us, peak_bytes| Fleet {
        ranks: vec![Rank {
            source: Source {
                path: "a".to_owned(),
                bytes: 1,
                modified_us,
            },
            peak_bytes,
            ..Rank::default()
        }],
        ..Fleet::default()
    };
    let (old, new) = (of(Some(1), 10), of(Some(2), 20));
    for parts in [[old.clone(), new.clone()], [new.clone(), old]] {
        assert_eq!(Fleet::of_all(parts).ranks[0].peak_bytes, 20);
    }
}
