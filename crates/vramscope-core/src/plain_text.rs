//! Bytes that are text: of ASCII's range letters, white space and the escapes of terminals alone.

/// Whether bytes are text, also as PowerShell writes it: in UTF-16.
pub(crate) fn is_text(bytes: &[u8]) -> bool {
    let is_letter = |&byte: &u8| byte >= b' ' || b"\t\n\r\x08\x0c\x1b".contains(&byte);
    match bytes.strip_prefix(b"\xff\xfe") {
        Some(wide) => {
            let is_ascii = |pair: &&[u8]| is_letter(&pair[0]) && pair[1] == 0;
            wide.chunks_exact(2).filter(is_ascii).count() * 4 > wide.len()
        }
        None => !bytes.is_empty() && bytes.iter().all(is_letter),
    }
}
