//! Containers around a file.

use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::Crc;
use flate2::write::GzEncoder;
use vramscope_synth::Rng;

/// The file, as it is or in a container.
pub(crate) fn wrapped(rng: &mut Rng, bytes: Vec<u8>) -> Vec<u8> {
    match rng.below(20) {
        0..2 => gzip(&bytes).unwrap_or(bytes),
        2..4 => zstd::encode_all(&bytes[..], 1).unwrap_or(bytes),
        4 => zip(&bytes),
        5 => html(&bytes),
        _ => bytes,
    }
}

fn gzip(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes)?;
    encoder.finish()
}

/// An archive of one file that is not compressed.
fn zip(bytes: &[u8]) -> Vec<u8> {
    const NAME: &[u8] = b"snapshot";
    let mut crc = Crc::new();
    crc.update(bytes);
    let (crc, size) = (crc.sum().to_le_bytes(), (bytes.len() as u32).to_le_bytes());
    let name_bytes = (NAME.len() as u16).to_le_bytes();
    // Version, flags, method, time and date; the check sum; both sizes; the lengths of the name and of nothing else.
    let common = [
        &[20, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        &crc[..],
        &size,
        &size,
        &name_bytes,
        &[0; 2],
    ]
    .concat();
    let file = [b"PK\x03\x04", &common[..], NAME, bytes].concat();
    let directory = [b"PK\x01\x02\x14\0", &common[..], &[0; 14], NAME].concat();
    let places = [directory.len() as u32, file.len() as u32].map(u32::to_le_bytes);
    let end = [
        b"PK\x05\x06\0\0\0\0\x01\0\x01\0",
        &places.concat()[..],
        &[0; 2],
    ]
    .concat();
    [file, directory, end].concat()
}

/// An HTML page as written by PyTorch.
fn html(bytes: &[u8]) -> Vec<u8> {
    let mut padded = bytes.to_vec();
    padded.resize(bytes.len().next_multiple_of(3), 0);
    format!(
        "\n<!DOCTYPE html>\n<script>\nconst local_files = [{{\"name\": \"snapshot.pickle\", \"base64\": \"{}\"}}]\n\
         add_local_files(local_files, 'Active Memory Timeline')</script>",
        STANDARD.encode(padded)
    )
    .into_bytes()
}

#[cfg(test)]
mod tests {
    use vramscope_core::decode;

    use super::*;

    #[test]
    fn each_container_is_opened() {
        let file = br#"{"segments":[],"device_traces":[[]]}"#;
        for wrapped in [gzip(file).unwrap_or_default(), zip(file), html(file)] {
            let snapshot = decode(&wrapped[..]).unwrap_or_else(|error| panic!("{error}"));
            assert!(snapshot.warnings.list().is_empty());
        }
    }
}
