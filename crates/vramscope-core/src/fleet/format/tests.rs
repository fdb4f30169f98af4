//! Files of fleets: what is written can be read again, and other files do no harm.

use proptest::prelude::*;

use super::*;
use crate::analysis::groups::turnover::Amount;
use crate::container::FileKind;
use crate::fleet::arbitrary::fleets;
use crate::fleet::{Curve, Place, Rank, Site, Source};

fn read(file: &[u8]) -> Result<Fleet, ErrorKind> {
    decode(file, &Limits::default()).map_err(|error| error.kind)
}

fn packed(body: &[u8]) -> Vec<u8> {
    let mut file = [&FLEET[..], &[VERSION]].concat();
    let mut zlib = ZlibEncoder::new(&mut file, Compression::fast());
    zlib.write_all(body).unwrap();
    zlib.finish().unwrap();
    file
}

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
    is(b"", "not a memory snapshot");
    is(b"\x93vram\r\n\n\x01", "not a memory snapshot");
    is(&file[..8], "ends early");
    is(&[&FLEET[..], &[VERSION + 1]].concat(), "version 2");
    is(&file[..file.len() - 1], "zlib");
    is(&packed(&[0; 3]), "ends early");
    is(&packed(&[0; 5]), "more after the end");
    // More ranks than there are bytes.
    is(&packed(&[0, 0, 0, 0xff, 0xff, 0x7f, 0, 0]), "ends early");
}

/// The place is in the unpacked data, or in the file if that cannot be unpacked.
#[test]
fn damage_has_a_place() {
    let offset = |file: &[u8]| decode(file, &Limits::default()).unwrap_err().offset;
    assert_eq!(offset(&packed(&[0; 5])), 4);
    assert_eq!(offset(&packed(&[2, 1, b'a', 9, b'b'])), 4);
    let file = encode(&Fleet::default());
    assert_eq!(offset(&file[..file.len() - 1]), file.len() as u64 - 1);
}

/// A small file that unpacks to a lot of data costs no more than the limits allow.
#[test]
fn bombs_are_refused() {
    let mut body = vec![0, 0, 0];
    // As many empty ranks as the following zeros can represent.
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
        // Anything that can be read can be written and read again.
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

/// Memory that rises and falls in about thirty steps.
fn trained_curve(random: &mut dyn FnMut(u64) -> u64) -> Curve {
    let (base, length) = (1200 + random(20), 8 + random(2));
    let mut reserved = base as u16;
    let mut curve = Curve {
        unit_bytes: 20 << 20,
        start_us: Some(1_760_000_000_000_000 + random(3_000_000) as i64),
        length: 60_000_000 + random(100_000),
        ..Curve::default()
    };
    for bin in 0..256 {
        let place = (bin % length).min(length - bin % length);
        let level = base + place * 2400 / length + random(120);
        curve.lowest.push((level - random(90)) as u16);
        curve.highest.push((level + random(90)) as u16);
        reserved = reserved.max(level as u16 + 90);
        curve.reserved.push(reserved);
    }
    curve
}

/// Rank `number` of a training run in which all call sites of activations depend on the batch: forward and backward
/// passes in about thirty steps, memory at 200 places.
fn trained(number: u32) -> Rank {
    let mut state = u64::from(number) * 2 + 1;
    let mut random = |below: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) % below
    };
    let curve = trained_curve(&mut random);
    let sites: Vec<Site> = (0..200_u32)
        .map(|site| {
            let weights = 1_000_000 + u64::from(site) * 37_512;
            let (bytes, count) = match site % 2 {
                0 => (weights * 512, 24),
                _ => ((weights + random(4096)) * 512, 24 + random(3)),
            };
            Site {
                site,
                peak: Amount { bytes, count },
                end_bytes: if site % 2 == 0 { bytes } else { 0 },
                left_per_step_bytes: if site == 7 { random(2) << 20 } else { 0 },
            }
        })
        .collect();
    Rank {
        place: Place {
            rank: number,
            local_rank: Some(number % 8),
            host: format!("node-{}", number / 8),
            step: Some(100),
            ..Place::default()
        },
        source: Source {
            path: format!("iteration_100/rank{number}_memory_snapshot.pickle"),
            bytes: 30_000_000 + random(100_000),
            modified_us: Some(1_760_000_000_000_000 + random(9_000_000) as i64),
        },
        producer: "torch 2.15 (Python)".to_owned(),
        events: 100_000,
        allocations: 51_000 + random(100),
        peak_bytes: (70 << 30) + random(1 << 30),
        reserved_at_peak_bytes: (75 << 30) + (random(500) << 21),
        peak_reserved_bytes: (76 << 30) + (random(500) << 21),
        end_bytes: 30 << 30,
        peak_moment: random(100_000) as u32,
        peak_time_us: Some(1_760_000_000_000_000 + random(60_000_000) as i64),
        device: number % 8,
        retries: Some(0),
        sites,
        curve,
        ..Rank::default()
    }
}

/// This is the size that the page has to fetch for a thousand ranks.
#[test]
fn a_thousand_ranks_take_less_than_2_mb() {
    let labels = (0..200).map(|site| format!("/home/user/train/model_{site:03}.py:{site} forward"));
    let fleet = Fleet {
        labels: labels.collect(),
        settings: vec![Default::default()],
        ranks: (0..1000).map(trained).collect(),
        unreadable: Vec::new(),
    };
    let file = encode(&fleet);
    println!("{} bytes", file.len());
    assert!(file.len() < 2_000_000, "{} bytes", file.len());
    assert_eq!(read(&file), Ok(fleet));
}

proptest! {
    #[test]
    fn the_order_of_ranks_does_not_matter(fleet in fleets(6)) {
        let one = |rank: &Rank| fleet.only(|other| std::ptr::eq(other, rank));
        let parts: Vec<Fleet> = fleet.ranks.iter().map(one).collect();
        let rest = fleet.only(|_| false);
        let forward = Fleet::of_all(parts.iter().cloned().chain([rest.clone()]));
        prop_assert_eq!(&forward, &fleet);
        prop_assert_eq!(Fleet::of_all([rest].into_iter().chain(parts.into_iter().rev())), fleet);
    }
}
