//! The page as one file, with everything inside that a served page loads: `vramscope html` and the page itself write it.
//!
//! ```text
//! index.html of the page          in the one file
//! <link rel="stylesheet" …>       <style>…</style>
//! <meta http-equiv="…-Policy">    a stricter policy
//! other <link>s to files          nothing
//! <script … src="…page.js">       <script type="module" nonce="…">…</script>
//!                                 <script data-part="…"> gzip as base64: the wasm programs and their glue
//!                                 <script data-file="NAME"> a packed snapshot as base64
//! ```
//! `www/page.js` finds the parts and files by these attributes. A policy forbids the page to load or send anything:
//! only its own script and what that creates (`blob:`) may run.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::address::FileKey;

/// The page's programs: the script loads a wasm module and its JavaScript for each.
const PROGRAMS: [&str; 3] = ["vramscope_app", "vramscope_worker", "vramscope_planner"];

/// A file to put into the page.
pub struct Embedded {
    /// Its name in the page.
    pub name: String,
    /// The snapshot, packed and compressed, or anything else that the page opens.
    pub packed: Vec<u8>,
}

impl Embedded {
    /// The key under which the page knows the file.
    #[must_use]
    pub fn key(&self) -> FileKey {
        FileKey {
            name: self.name.clone(),
            bytes: Some(self.packed.len() as u64),
            copy: 0,
        }
    }

    /// The size in the page, as base64.
    #[must_use]
    pub fn base64_bytes(&self) -> u64 {
        self.packed.len().div_ceil(3) as u64 * 4
    }
}

/// The page's files that its `index.html` loads, by their paths relative to it.
#[derive(Default)]
pub struct Loaded {
    /// Styles and the script.
    pub texts: BTreeMap<String, String>,
    /// The programs, as gzip.
    pub parts: Vec<(String, Vec<u8>)>,
}

/// The paths of the texts and of the programs that `index` loads.
#[must_use]
pub fn needed(index: &str) -> (Vec<&str>, Vec<String>) {
    let tags = index.lines().map(str::trim_start);
    let texts: Vec<_> = tags.filter_map(loaded_by).collect();
    let script = texts.iter().find(|path| path.ends_with(".js"));
    let folder = script.map_or("", |path| &path[..path.rfind('/').map_or(0, |at| at + 1)]);
    let parts = PROGRAMS
        .iter()
        .flat_map(|program| {
            [
                format!("{folder}{program}.js"),
                format!("{folder}{program}_bg.wasm"),
            ]
        })
        .collect();
    (texts, parts)
}

/// The path of the style or script that a tag loads from beside the page. What a host adds from elsewhere is none.
fn loaded_by(tag: &str) -> Option<&str> {
    let (start, end) = match tag {
        style if style.starts_with("<link rel=\"stylesheet\"") => (" href=\"", ".css"),
        script if script.starts_with("<script") => (" src=\"", "/page.js"),
        _ => return None,
    };
    let path = tag.split_once(start)?.1.split('"').next()?;
    let is_beside = path.ends_with(end) && !path.contains(':') && !path.starts_with('/');
    is_beside.then_some(path)
}

/// Whether a line is left out: the policy of a served page, links to files, and scripts that are not the page's.
fn is_left_out(tag: &str) -> bool {
    let is_file = tag.starts_with("<link") && !tag.contains(" href=\"data:");
    is_file || tag.starts_with("<meta http-equiv") || tag.starts_with("<script")
}

/// Builds the page with files in it; `None` if `index` is not written as the page's is. `shown` is the address to open first. `nonce` is the word by which the policy recognises
/// the page's own script: nothing in the page that others chose may contain it.
#[must_use]
pub fn one_file(
    index: &str,
    loaded: &Loaded,
    files: &[Embedded],
    shown: &str,
    nonce: &str,
) -> Option<String> {
    let mut html = String::new();
    let (mut has_policy, mut has_script, mut has_data) = (false, false, false);
    for line in index.lines() {
        let tag = line.trim_start();
        let text = loaded_by(tag).and_then(|path| loaded.texts.get(path));
        if let Some(text) = text {
            has_script |= tag.starts_with("<script");
            let _ = match tag.starts_with("<script") {
                true => write!(
                    html,
                    "<script type=\"module\" nonce=\"{nonce}\">\n{text}</script>"
                ),
                false => write!(html, "<style>\n{text}</style>"),
            };
        } else if tag.starts_with("<html") {
            let place = attribute(shown);
            html.push_str(&line.replacen("<html", &format!("<html data-place=\"{place}\""), 1));
        } else if tag.starts_with("<meta charset") {
            html.push_str(line);
            html.push_str(&policy(nonce));
            has_policy = true;
        } else if tag.starts_with("</body") {
            push_data(&mut html, loaded, files);
            html.push_str(line);
            has_data = true;
        } else if !is_left_out(tag) {
            html.push_str(line);
        }
        html.push('\n');
    }
    (has_policy && has_script && has_data).then_some(html)
}

/// Adds the parts and files. Samples are left out: they exist only beside a served page.
fn push_data(html: &mut String, loaded: &Loaded, files: &[Embedded]) {
    const DATA: &str = "<script type=\"application/octet-stream\"";
    html.push_str("<style>.start section:has(#samples-title) { display: none }</style>\n");
    for (path, gzip) in &loaded.parts {
        let name = path.rsplit('/').next().unwrap_or(path);
        let _ = write!(html, "{DATA} data-part=\"{name}\">");
        STANDARD.encode_string(gzip, html);
        html.push_str("</script>\n");
    }
    for file in files {
        let _ = write!(html, "{DATA} data-file=\"{}\">", attribute(&file.name));
        STANDARD.encode_string(&file.packed, html);
        html.push_str("</script>\n");
    }
}

/// The content security policy. Nothing is loaded from anywhere: `default-src` covers everything not named.
fn policy(nonce: &str) -> String {
    format!(
        "\n<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'nonce-{nonce}' \
         'wasm-unsafe-eval' blob:; style-src 'unsafe-inline'; img-src data: blob:; worker-src blob:; \
         connect-src blob:; base-uri 'none'; form-action 'none'\">"
    )
}

/// Quotes a text as an attribute's value. Parsers change a bare carriage return, so it is escaped.
fn attribute(text: &str) -> String {
    let mut value = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' | '<' | '>' | '"' | '\'' | '\r' | '\n' => {
                let _ = write!(value, "&#{};", u32::from(character));
            }
            '\0' => value.push('\u{fffd}'),
            plain => value.push(plain),
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_in_their_attribute() {
        assert_eq!(
            attribute("a\"><script>alert('x')</script>&amp;\r\n\0.pickle"),
            "a&#34;&#62;&#60;script&#62;alert(&#39;x&#39;)&#60;/script&#62;&#38;amp;&#13;&#10;\u{fffd}.pickle"
        );
    }

    #[test]
    fn what_the_page_loads_is_inside_and_nothing_else_is_named() {
        let index = "<html>\n<meta charset=\"utf-8\">\n<meta http-equiv=\"x\">\n<link rel=\"manifest\" href=\"a/m\">\n\
                     <link rel=\"stylesheet\" href=\"a/s.css\">\n<link rel=\"preload\" href=\"a/p\">\n\
                     <script src=\"https://host/page.js\"></script>\n\
                     <script type=\"module\" src=\"a/page.js\"></script>\n<body>\n</body>";
        let (texts, parts) = needed(index);
        assert_eq!(texts, ["a/s.css", "a/page.js"]);
        assert_eq!(parts[1], "a/vramscope_app_bg.wasm");
        let loaded = Loaded {
            texts: texts
                .iter()
                .map(|&path| (path.to_owned(), format!("of {path}\n")))
                .collect(),
            parts: vec![(parts[1].clone(), vec![1])],
        };
        let file = Embedded {
            name: "b".into(),
            packed: vec![2],
        };
        let html = one_file(index, &loaded, &[file], "view=map", "n").unwrap();
        assert!(html.starts_with("<html data-place=\"view=map\">"), "{html}");
        assert!(html.contains("<style>\nof a/s.css\n</style>"), "{html}");
        assert!(
            html.contains("nonce=\"n\">\nof a/page.js\n</script>"),
            "{html}"
        );
        assert!(
            html.contains("data-part=\"vramscope_app_bg.wasm\">AQ==<"),
            "{html}"
        );
        assert!(html.contains("data-file=\"b\">Ag==<"), "{html}");
        assert!(
            !html.contains("href=") && !html.contains("https:"),
            "{html}"
        );
        let joined = index.replace('\n', "");
        assert_eq!(one_file(&joined, &loaded, &[], "", "n"), None);
    }
}
