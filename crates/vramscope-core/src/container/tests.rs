//! Opens containers that are made here.

mod damage;

use std::io::Write;

use base64::Engine;
use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use super::layer::LOOKAHEAD;
use super::*;
use crate::error::{Error, Lookalike};

/// Starts like a pickle and is long enough to need several reads.
fn pickle() -> Vec<u8> {
    let mut bytes = b"\x80\x04]\x94.".to_vec();
    bytes.extend((0..300_000_u32).flat_map(|value| (value / 7).to_le_bytes()));
    bytes
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    compress_to_vec(bytes, CompressionLevel::Fastest)
}

fn html(bytes: &[u8]) -> Vec<u8> {
    let mut padded = bytes.to_vec();
    padded.resize(bytes.len() + 3 - bytes.len() % 3, 0);
    let base64 = base64::engine::general_purpose::STANDARD.encode(padded);
    format!(
        "\n<!DOCTYPE html>\n<script>\nconst local_files = [{{\"name\": \"snapshot.pickle\", \"base64\": \
         \"{base64}\"}}]\nadd_local_files(local_files, 'Active Memory Timeline')</script>"
    )
    .into_bytes()
}

fn own_html(files: &[&[u8]]) -> Vec<u8> {
    let mut page = "<!doctype html>\n<html>".to_owned();
    for bytes in files {
        let base64 = base64::engine::general_purpose::STANDARD.encode(bytes);
        page += &format!(
            "<script type=\"application/octet-stream\" data-file=\"a &#62; b\">{base64}</script>\n"
        );
    }
    page.into_bytes()
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Sizes {
    InHeader,
    InDescriptor,
    InUnsignedDescriptor,
    Zip64,
    Zip64Descriptor,
}

/// An archive of (name, contents, deflated?).
fn zip(sizes: Sizes, files: &[(&str, &[u8], bool)]) -> Vec<u8> {
    let mut archive = Vec::new();
    for &(name, contents, is_deflated) in files {
        let mut crc = flate2::Crc::new();
        crc.update(contents);
        let packed = if is_deflated {
            let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(contents).unwrap();
            encoder.finish().unwrap()
        } else {
            contents.to_vec()
        };
        let is_late = !matches!(sizes, Sizes::InHeader | Sizes::Zip64) && !contents.is_empty();
        let is_wide = matches!(sizes, Sizes::Zip64 | Sizes::Zip64Descriptor);
        let (packed_size, size) = (packed.len() as u64, contents.len() as u64);
        let (header_crc, header_sizes) = match (is_late, is_wide) {
            (false, false) => (crc.sum(), [packed_size as u32, size as u32]),
            (false, true) => (crc.sum(), [u32::MAX; 2]),
            (true, false) => (0, [0; 2]),
            (true, true) => (0, [u32::MAX; 2]),
        };
        let extra_sizes = if is_late { [0; 2] } else { [size, packed_size] };
        archive.extend(b"PK\x03\x04\x14\0");
        archive.extend((u16::from(is_late) << 3).to_le_bytes());
        archive.extend((u16::from(is_deflated) * 8).to_le_bytes());
        archive.extend([0; 4]);
        archive.extend(header_crc.to_le_bytes());
        archive.extend(header_sizes.iter().flat_map(|size| size.to_le_bytes()));
        archive.extend((name.len() as u16).to_le_bytes());
        archive.extend((if is_wide { 24_u16 } else { 0 }).to_le_bytes());
        archive.extend(name.as_bytes());
        if is_wide {
            // An unknown field, then zip64's.
            archive.extend([9, 9, 0, 0, 1, 0, 16, 0]);
            archive.extend(extra_sizes.iter().flat_map(|size| size.to_le_bytes()));
        }
        archive.extend(packed);
        if is_late {
            if sizes != Sizes::InUnsignedDescriptor {
                archive.extend(b"PK\x07\x08");
            }
            archive.extend(crc.sum().to_le_bytes());
            for size in [packed_size, size] {
                archive.extend(&size.to_le_bytes()[..if is_wide { 8 } else { 4 }]);
            }
        }
    }
    archive.extend(b"PK\x05\x06");
    archive.extend([0; 18]);
    archive
}

fn one_in_zip(bytes: &[u8]) -> Vec<u8> {
    zip(Sizes::InHeader, &[("snapshot.pickle", bytes, true)])
}

/// The unwrapped bytes, the containers, and the number of further files.
fn read(bytes: &[u8]) -> Result<(Vec<u8>, Vec<ContainerKind>, u64), ErrorKind> {
    let mut unwrapped = unwrap(bytes, &Limits::default()).map_err(|error| error.kind)?;
    let mut out = Vec::new();
    unwrapped
        .input
        .read_to_end(&mut out)
        .map_err(|error| kind_of(&error))?;
    Ok((
        out,
        unwrapped.containers,
        unwrapped.counters.further_files.get(),
    ))
}

#[track_caller]
fn refusal(bytes: &[u8]) -> ErrorKind {
    read(bytes).map(|_| ()).unwrap_err()
}

#[test]
fn takes_every_wrapping_off() {
    let pickle = pickle();
    assert_eq!(read(&pickle), Ok((pickle.clone(), vec![], 0)));
    for (wrapped, kind) in [
        (gzip(&pickle), ContainerKind::Gzip),
        (zstd(&pickle), ContainerKind::Zstd),
        (one_in_zip(&pickle), ContainerKind::Zip),
    ] {
        assert_eq!(read(&wrapped), Ok((pickle.clone(), vec![kind], 0)));
    }
    let (padded, kinds, _) = read(&html(&pickle)).unwrap();
    assert_eq!(kinds, [ContainerKind::Html]);
    assert!(padded.starts_with(&pickle) && padded.len() - pickle.len() <= 3);
    assert!(padded[pickle.len()..].iter().all(|&byte| byte == 0));
}

#[test]
fn pages_of_our_own_hold_files() {
    let pickle = pickle();
    let page = own_html(&[&zstd(&pickle), b"a second", b"a third"]);
    let kinds = vec![ContainerKind::Html, ContainerKind::Zstd];
    assert_eq!(read(&page), Ok((pickle, kinds, 2)));
    assert!(matches!(refusal(&page[..400]), ErrorKind::Truncated(_)));
}

#[test]
fn wrappings_nest_up_to_the_limit() {
    let pickle = pickle();
    let nested = gzip(&one_in_zip(&zstd(&pickle)));
    let kinds = vec![ContainerKind::Gzip, ContainerKind::Zip, ContainerKind::Zstd];
    assert_eq!(read(&nested), Ok((pickle, kinds, 0)));
    let too_deep = gzip(&gzip(&gzip(&nested)));
    assert!(matches!(
        refusal(&too_deep),
        ErrorKind::Limit { limit: 4, .. }
    ));
}

#[test]
fn members_and_frames_follow_each_other() {
    let (first, second) = pickle().split_at(100_000).into_owned();
    let members = [gzip(&first), gzip(&second), vec![0; 512]].concat();
    assert_eq!(read(&members).unwrap().0, pickle());
    let skippable = b"\x5a\x2a\x4d\x18\x05\0\0\0index".to_vec();
    let frames = [
        skippable.clone(),
        zstd(&first),
        skippable,
        zstd(&second),
        b"rest".to_vec(),
    ]
    .concat();
    assert_eq!(read(&frames).unwrap().0, pickle());
}

trait IntoOwned {
    fn into_owned(self) -> (Vec<u8>, Vec<u8>);
}

impl IntoOwned for (&[u8], &[u8]) {
    fn into_owned(self) -> (Vec<u8>, Vec<u8>) {
        (self.0.to_vec(), self.1.to_vec())
    }
}

#[test]
fn zip_of_every_writer() {
    // The bytes of a descriptor's signature inside the data must not end it.
    let snapshot = [pickle(), b"PK\x07\x08 PK\x07\x08".repeat(9), pickle()].concat();
    for sizes in [
        Sizes::InHeader,
        Sizes::InDescriptor,
        Sizes::InUnsignedDescriptor,
        Sizes::Zip64,
        Sizes::Zip64Descriptor,
    ] {
        for is_deflated in [true, false] {
            // Nothing says where stored data ends if its descriptor has no signature.
            if sizes == Sizes::InUnsignedDescriptor && !is_deflated {
                continue;
            }
            let archive = zip(
                sizes,
                &[
                    ("run/", b"", false),
                    ("run/README.md", b"See snapshot.pickle.", is_deflated),
                    ("run/config.json", b"{\"lr\": 1}", is_deflated),
                    (
                        "__MACOSX/run/._snapshot.pickle",
                        b"\0\x05\x16\x07",
                        is_deflated,
                    ),
                    ("run/snapshot.pickle", &snapshot, is_deflated),
                    ("run/later.pickle", &snapshot, is_deflated),
                    ("run/notes.txt", b"Nothing.", is_deflated),
                ],
            );
            let (out, kinds, further) = read(&archive).unwrap();
            assert!(out == snapshot, "{sizes:?} {is_deflated}");
            assert_eq!(
                (kinds, further),
                (vec![ContainerKind::Zip], 1),
                "{sizes:?} {is_deflated}"
            );
        }
    }
}

#[test]
fn zip_without_a_snapshot() {
    let archive = zip(
        Sizes::InHeader,
        &[("a.txt", b"hello", true), ("b.csv", b"1,2", false)],
    );
    assert_eq!(refusal(&archive), ErrorKind::ArchiveWithout { files: 2 });
    assert_eq!(
        refusal(&zip(Sizes::InHeader, &[])),
        ErrorKind::ArchiveWithout { files: 0 }
    );
    let checkpoint = zip(
        Sizes::InDescriptor,
        &[
            ("archive/.format_version", b"1", false),
            ("archive/data.pkl", b"\x80\x02}q\0.", false),
        ],
    );
    assert_eq!(
        refusal(&checkpoint),
        ErrorKind::NotASnapshot(Lookalike::TorchCheckpoint)
    );
    // A snapshot of that name is a snapshot.
    let snapshot = b"\x80\x04}\x94\x8c\x08segments\x94]\x94}\x94(\x8c\x0atotal_sizeK\0us.".to_vec();
    let archive = zip(Sizes::InHeader, &[("run/data.pkl", &snapshot, true)]);
    assert_eq!(read(&archive).unwrap().0, snapshot);
    let mut encrypted = one_in_zip(b"secret");
    encrypted[6] |= 1;
    assert!(matches!(refusal(&encrypted), ErrorKind::Unsupported(_)));
}

#[test]
fn html_of_other_kinds() {
    for (page, lookalike) in [
        ("<html><body>404</body></html>", Lookalike::OtherHtml),
        (
            "<!DOCTYPE html><script>const local_files = []</script>",
            Lookalike::OtherHtml,
        ),
        (
            "<!DOCTYPE html><script>const local_files = load()</script>",
            Lookalike::OtherHtml,
        ),
        (
            "<!DOCTYPE html><script>let alloc_data = {}</script>",
            Lookalike::Torch20Html,
        ),
    ] {
        assert_eq!(
            refusal(page.as_bytes()),
            ErrorKind::NotASnapshot(lookalike),
            "{page}"
        );
    }
    // The list comes long after other script, across a layer's lookahead.
    for padding in [65_520, 65_530, 65_536, 200_000] {
        let page = format!("<!DOCTYPE html>{}", " ".repeat(padding));
        let page = [page.into_bytes(), html(&pickle())].concat();
        assert!(read(&page).unwrap().0.starts_with(&pickle()));
    }
}

#[test]
fn html_of_several_files() {
    let page = "<html>const local_files = [{\"base64\": \"gARdLg\\/\\/\", \"name\": \"a\"}, \
                {\"name\": \"b\", \"base64\": \"gARdLg==\"},{\"name\":\"c\",\"base64\":\"\"}]";
    let (out, _, further) = read(page.as_bytes()).unwrap();
    assert_eq!((out.as_slice(), further), (&b"\x80\x04].\x0f\xff"[..], 2));
}

#[test]
fn empty_at_every_layer() {
    assert_eq!(refusal(b""), ErrorKind::Empty);
    assert_eq!(refusal(&gzip(b"")), ErrorKind::EmptyInside);
    assert_eq!(refusal(&zstd(b"")), ErrorKind::EmptyInside);
    assert_eq!(
        refusal(&html(b"")),
        ErrorKind::NotASnapshot(Lookalike::Nuls)
    );
}

#[test]
fn packings_that_are_not_read_are_named() {
    let mut tar = b"rank0.pickle".to_vec();
    tar.resize(257, 0);
    tar.extend_from_slice(b"ustar\x0000");
    tar.resize(1024, 0);
    for (head, lookalike) in [
        (b"BZh91AY&SY".to_vec(), Lookalike::Bzip2),
        (b"\xfd7zXZ\x00\x00\x04".to_vec(), Lookalike::Xz),
        (gzip(&tar), Lookalike::Tar),
        (tar, Lookalike::Tar),
    ] {
        let error = Error::from(refusal(&head));
        assert_eq!(error.kind, ErrorKind::NotASnapshot(lookalike));
        assert!(error.advice().contains("Unpack it"), "{error}");
    }
}

#[test]
fn bombs_stop_at_the_limit() {
    let bomb = gzip(&[b"\x80\x04".to_vec(), vec![b'N'; 4 << 20]].concat());
    let limits = Limits {
        free_bytes: 1 << 20,
        unwrapped_per_byte: 1,
        ..Limits::default()
    };
    let mut unwrapped = unwrap(bomb.as_slice(), &limits).unwrap();
    let error = io::copy(&mut unwrapped.input, &mut io::sink()).unwrap_err();
    assert!(matches!(
        kind_of(&error),
        ErrorKind::Limit {
            limit: 0x10_0000,
            ..
        }
    ));
}

/// Empty parts, each of which costs a decoder time, packed so that the file is small.
#[test]
fn parts_are_paid_for_with_bytes_of_the_file() {
    let limits = Limits {
        free_bytes: 1 << 20,
        ..Limits::default()
    };
    let snapshot = b"\x80\x04}\x94.".as_slice();
    let in_zip = one_in_zip(snapshot);
    let (entries, directory) = in_zip.split_at(in_zip.len() - 22);
    let one = zip(Sizes::InHeader, &[("", b"a", false)]);
    let tiny = one[..one.len() - 22].repeat(1000);
    let zeros = zip(Sizes::InHeader, &[("", &vec![0; 2 << 20], true)]);
    for hostile in [
        gzip(b"").repeat(1000),
        [gzip(snapshot), gzip(b"").repeat(1000)].concat(),
        zstd(b"").repeat(1000),
        [&b"\x28\xb5\x2f\xfd\0\x58"[..], &[0; 3000]].concat(),
        [zstd(snapshot), b"\x50\x2a\x4d\x18\0\0\0\0".repeat(1000)].concat(),
        [&tiny, directory].concat(),
        [entries, &tiny, directory].concat(),
        [entries, &zeros].concat(),
        own_html(&vec![snapshot; 1000]),
    ] {
        let file = gzip(&gzip(&hostile));
        assert!(file.len() < 4096, "{}", file.len());
        let read = unwrap(file.as_slice(), &limits).map_err(|error| error.kind);
        let counters = read.as_ref().map(|read| Rc::clone(&read.counters)).ok();
        let end = read.and_then(|mut read| {
            io::copy(&mut read.input, &mut io::sink()).map_err(|error| kind_of(&error))
        });
        let start = &hostile[..hostile.len().min(40)];
        assert!(
            matches!(
                end,
                Err(ErrorKind::Limit {
                    limit: 0x10_0000,
                    ..
                })
            ),
            "{end:?} {start:?}"
        );
        // Reading stopped at once.
        let work = counters.map_or(0, |counters| counters.work_bytes.get());
        let step = LOOKAHEAD as u64 * limits::PACKED_BYTES;
        assert!(work <= 0x10_0000 + step, "{work} {start:?}");
    }
    // As many in a file that is not packed again.
    let members = [gzip(snapshot), gzip(b"").repeat(1000)].concat();
    let mut read = unwrap(members.as_slice(), &limits).unwrap();
    assert_eq!(io::copy(&mut read.input, &mut io::sink()).unwrap(), 5);
}

#[test]
fn errors_tell_where_they_are() {
    let error = unwrap(gzip(b"hello world").as_slice(), &Limits::default())
        .map(|_| ())
        .unwrap_err();
    assert_eq!(error.kind, ErrorKind::UnknownFormat);
    assert_eq!(error.containers, [ContainerKind::Gzip]);
    assert_eq!(error.head, b"hello world");
}

#[test]
fn counts_the_bytes_of_the_file() {
    let pickle = pickle();
    for wrapped in [
        gzip(&pickle),
        zstd(&pickle),
        html(&pickle),
        one_in_zip(&pickle),
    ] {
        for bytes in [&wrapped, &[wrapped.as_slice(), &[0; 200_000]].concat()] {
            let mut unwrapped = unwrap(bytes.as_slice(), &Limits::default()).unwrap();
            io::copy(&mut unwrapped.input, &mut io::sink()).unwrap();
            assert_eq!(unwrapped.counters.file_bytes.get(), bytes.len() as u64);
        }
    }
}

#[test]
fn json_loses_its_byte_order_mark() {
    let unwrapped = unwrap(&b"\xef\xbb\xbf{}"[..], &Limits::default()).unwrap();
    assert_eq!(unwrapped.encoding, Encoding::Json);
    assert_eq!(io::read_to_string(unwrapped.input).unwrap(), "{}");
}

/// A deflate stream of empty blocks: each of its bytes costs a decoder as much as hundreds of other ones.
#[test]
fn compressed_data_in_another_container_is_paid_for() {
    let empty_blocks = |count: usize| {
        // Eight blocks of fixed codes in 10 bytes, each only 3 bits of header and the code for its end.
        let mut bits = 0_u128;
        (0..8).for_each(|block| bits |= 0b010 << (10 * block));
        let eight = bits.to_le_bytes();
        let mut file = b"\x1f\x8b\x08\0\0\0\0\0\0\xff".to_vec();
        (0..count / 8).for_each(|_| file.extend(&eight[..10]));
        let snapshot = b"\x80\x04]\x94.";
        let mut crc = flate2::Crc::new();
        crc.update(snapshot);
        file.extend([1, 5, 0, 0xfa, 0xff]);
        file.extend(snapshot);
        file.extend(crc.sum().to_le_bytes());
        file.extend(5_u32.to_le_bytes());
        file
    };
    let few = gzip(&empty_blocks(1000));
    assert_eq!(read(&few).unwrap().0, b"\x80\x04]\x94.");
    let limits = Limits {
        free_bytes: 1 << 20,
        ..Limits::default()
    };
    let many = empty_blocks(100_000);
    for file in [gzip(&many), gzip(&gzip(&many)), gzip(&one_in_zip(&many))] {
        let read = unwrap(&file[..], &limits).map_err(|error| error.kind);
        let end = read.and_then(|mut read| {
            io::copy(&mut read.input, &mut io::sink()).map_err(|error| kind_of(&error))
        });
        assert!(matches!(end, Err(ErrorKind::Limit { .. })), "{end:?}");
    }
}
