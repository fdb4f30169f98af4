//! `THIRD-PARTY.txt`: the content of an artefact, its licences, where its sources are, and each text once.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::inside::Component;

/// Writes the notices of an artefact.
pub(super) fn write(components: &[Component], to: &Path) -> Result<()> {
    fs::write(to, notices(components)?).with_context(|| format!("cannot write {}", to.display()))
}

fn notices(components: &[Component]) -> Result<String> {
    let others = || components.iter().filter(|it| !it.texts.is_empty());
    let mut out = String::from(
        "Besides vramscope (MIT OR Apache-2.0), this contains the following. Their licences stand below.\n\n",
    );
    for it in others() {
        writeln!(
            out,
            "{} {}\n    {}\n    {}",
            it.name, it.version, it.licence, it.address
        )?;
    }
    // Texts that differ only in spaces are one.
    let mut texts: BTreeMap<String, (String, Vec<String>)> = BTreeMap::new();
    for it in others() {
        for path in &it.texts {
            let bytes =
                fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
            let mut text = String::from_utf8_lossy(&bytes).into_owned();
            if path.extension().is_some_and(|ending| ending == "html") {
                text = without_tags(&text);
            }
            let key = text.split_whitespace().collect::<Vec<_>>().join(" ");
            let (_, owners) = texts.entry(key).or_insert((text, Vec::new()));
            owners.push(format!("{} {}", it.name, it.version));
        }
    }
    let mut texts: Vec<_> = texts.into_values().collect();
    texts.sort_by(|(_, some), (_, others)| some.cmp(others));
    for (text, mut owners) in texts {
        owners.dedup();
        let rule = "=".repeat(80);
        write!(
            out,
            "\n{rule}\n{}\n{rule}\n\n{}\n",
            owners.join(", "),
            text.trim_end()
        )?;
    }
    Ok(out)
}

/// A page's text. Characters of HTML are written as numbers, as in Rust's tools.
fn without_tags(page: &str) -> String {
    let pieces = page.split('<');
    let words = pieces.map(|piece| piece.split_once('>').map_or(piece, |(_, words)| words));
    let words: String = words.collect();
    let mut pieces = words.split("&#");
    let mut text = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (number, words) = piece.split_once(';').unwrap_or(("", piece));
        text.extend(number.parse().ok().and_then(char::from_u32));
        text += words;
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;

    use super::{Component, notices, without_tags};

    #[test]
    fn a_text_of_two_stands_once() -> anyhow::Result<()> {
        let folder =
            std::env::temp_dir().join(format!("vramscope-licences-{}", std::process::id()));
        fs::create_dir_all(&folder)?;
        let [one, same] = ["one", "same"].map(|name| folder.join(name));
        fs::write(&one, "Do what\nyou like.")?;
        fs::write(&same, "Do  what you like.\n")?;
        let component = |name: &str, texts| Component {
            id: name.to_owned(),
            name: name.to_owned(),
            version: "1.0.0".to_owned(),
            licence: "0BSD".to_owned(),
            address: String::new(),
            texts,
            uses: BTreeSet::new(),
        };
        let text = notices(&[component("a", vec![one]), component("b", vec![same])])?;
        fs::remove_dir_all(&folder)?;
        assert!(text.contains("\na 1.0.0, b 1.0.0\n"), "{text}");
        assert_eq!(text.matches("you like").count(), 1, "{text}");
        Ok(())
    }

    #[test]
    fn a_page_is_read_without_its_tags() {
        assert_eq!(
            without_tags("<p>by <a href=\"x\">A &#38; B</a> &#60;a@b&#62;</p>"),
            "by A & B <a@b>"
        );
    }
}
