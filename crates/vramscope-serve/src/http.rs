//! The part of HTTP/1.1 that a browser on the same machine needs: one GET or HEAD per connection.

use std::io::{self, Read, Write};

/// Maximum size of a request head, in bytes.
const HEAD_LIMIT: usize = 16 << 10;
/// Maximum number of header fields; browsers send about twenty.
const FIELDS: usize = 64;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Request {
    /// As sent, in capitals.
    pub(crate) method: String,
    /// Percent-decoded path, without the query.
    pub(crate) path: String,
    /// The header `Host`; empty if missing.
    pub(crate) host: String,
    /// Whether the browser accepts gzip.
    pub(crate) accepts_gzip: bool,
}

/// Reads a request head, or as much of it as arrives; empty if the connection is never used.
pub(crate) fn read_head(mut stream: impl Read) -> Vec<u8> {
    let mut head = Vec::new();
    let mut chunk = [0; 2048];
    while head.len() <= HEAD_LIMIT && !head.windows(4).any(|end| end == b"\r\n\r\n") {
        match stream.read(&mut chunk) {
            Ok(count @ 1..) => head.extend_from_slice(&chunk[..count]),
            _ => break,
        }
    }
    head
}

/// Parses a head; `None` if it is malformed or incomplete.
pub(crate) fn parse(head: &[u8]) -> Option<Request> {
    let mut fields = [httparse::EMPTY_HEADER; FIELDS];
    let mut request = httparse::Request::new(&mut fields);
    request.parse(head).ok()?.is_complete().then_some(())?;
    let target = request.path?;
    let path = target.split(['?', '#']).next().unwrap_or_default();
    let field = |name: &str| {
        let mut values = request
            .headers
            .iter()
            .filter(|field| field.name.eq_ignore_ascii_case(name));
        let first = values
            .next()
            .map_or("", |field| std::str::from_utf8(field.value).unwrap_or(""));
        // With two Host headers, a proxy and this server might use different ones.
        if values.next().is_some() { "" } else { first }
    };
    Some(Request {
        method: request.method?.to_owned(),
        path: percent_encoding::percent_decode_str(path)
            .decode_utf8()
            .ok()?
            .into_owned(),
        host: field("host").trim().to_owned(),
        accepts_gzip: field("accept-encoding")
            .split(',')
            .any(|coding| coding.trim().starts_with("gzip")),
    })
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Status {
    Ok,
    BadRequest,
    Forbidden,
    NotFound,
    MethodNotAllowed,
    Busy,
}

impl Status {
    fn line(self) -> &'static str {
        match self {
            Self::Ok => "200 OK",
            Self::BadRequest => "400 Bad Request",
            Self::Forbidden => "403 Forbidden",
            Self::NotFound => "404 Not Found",
            Self::MethodNotAllowed => "405 Method Not Allowed",
            Self::Busy => "503 Service Unavailable",
        }
    }
}

pub(crate) struct Response<'a> {
    pub(crate) status: Status,
    pub(crate) content_type: &'static str,
    pub(crate) is_gzip: bool,
    /// Number of bytes; `None` for a body that ends with the connection.
    pub(crate) length: Option<u64>,
    pub(crate) body: Box<dyn Read + 'a>,
}

impl<'a> Response<'a> {
    /// An answer with a text.
    pub(crate) fn text(status: Status, text: &'a str) -> Self {
        Self {
            status,
            content_type: "text/plain; charset=utf-8",
            is_gzip: false,
            length: Some(text.len() as u64),
            body: Box::new(text.as_bytes()),
        }
    }
}

/// Sent with every answer. In addition to its own policy, the page may load only from this server; no other page may
/// frame or read it; its address, which contains the secret path, is sent to nobody; and nothing is cached on disk.
const FIXED_FIELDS: &str = "\
Content-Security-Policy: connect-src 'self' blob:; frame-ancestors 'none'\r\n\
Cross-Origin-Opener-Policy: same-origin\r\n\
Cross-Origin-Resource-Policy: same-origin\r\n\
Referrer-Policy: no-referrer\r\n\
X-Content-Type-Options: nosniff\r\n\
Cache-Control: no-store\r\n\
Connection: close\r\n";

/// Writes an answer; `with_body` is false for HEAD.
pub(crate) fn write_response(
    mut stream: impl Write,
    mut response: Response<'_>,
    with_body: bool,
) -> io::Result<()> {
    let encoding = if response.is_gzip {
        "Content-Encoding: gzip\r\n"
    } else {
        ""
    };
    let allow = if response.status == Status::MethodNotAllowed {
        "Allow: GET, HEAD\r\n"
    } else {
        ""
    };
    let length = response.length;
    let length = length.map_or(String::new(), |length| {
        format!("Content-Length: {length}\r\n")
    });
    let head = format!(
        "HTTP/1.1 {}\r\nContent-Type: {}\r\n{length}{encoding}{allow}{FIXED_FIELDS}\r\n",
        response.status.line(),
        response.content_type,
    );
    stream.write_all(head.as_bytes())?;
    if with_body {
        io::copy(&mut response.body, &mut stream)?;
    }
    stream.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(stream: impl Read) -> Option<Request> {
        parse(&read_head(stream))
    }

    #[test]
    fn reads_what_browsers_send() {
        let head = b"GET /token/files/0/a%20b?x=1 HTTP/1.1\r\nHost: 127.0.0.1:80\r\n\
            Accept-Encoding: br, gzip;q=0.9\r\n\r\n";
        let request = read(&head[..]).unwrap();
        assert_eq!(request.method, "GET");
        assert_eq!(request.path, "/token/files/0/a b");
        assert_eq!(request.host, "127.0.0.1:80");
        assert!(request.accepts_gzip);
    }

    #[test]
    fn refuses_what_is_no_request() {
        assert_eq!(read(&b""[..]), None);
        assert_eq!(read(&b"GET / HTTP/1.1\r\nHost: a"[..]), None);
        assert_eq!(read(&b"\0\0\0\r\n\r\n"[..]), None);
        assert_eq!(read(std::io::repeat(b'a')), None);
        let two_hosts = b"GET / HTTP/1.1\r\nHost: 127.0.0.1:80\r\nHost: evil\r\n\r\n";
        assert_eq!(read(&two_hosts[..]).unwrap().host, "");
    }
}
