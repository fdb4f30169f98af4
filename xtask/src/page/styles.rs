//! Style sheets as the page loads them.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::is_comment;

/// The style sheet of the first picture.
const MINI_STYLE: &str = "mini.css";

/// Those that it is taken from.
const MINI_SHEETS: [&str; 2] = ["style.css", "views/timeline.css"];

/// The elements that Rust adds to `mini.html`.
const ADDED: [&str; 2] = ["option", "span"];

/// Joins the style sheets of `app`, in the order of `index`, into the first, since each costs a request before
/// anything is drawn. Returns `index` with that one alone, and without comments.
///
/// # Errors
///
/// If a file cannot be read or written.
pub(super) fn joined(app: &Path, index: &str) -> Result<String> {
    const LINK: &str = "<link rel=\"stylesheet\" href=\"www/";
    let mut lines = Vec::new();
    let mut styles = String::new();
    let mut first = None;
    for line in index.lines() {
        if is_comment(line) {
            continue;
        }
        let link = line.trim_start().strip_prefix(LINK);
        let Some((name, _)) = link.and_then(|link| link.split_once('"')) else {
            lines.push(line);
            continue;
        };
        let path = app.join(name);
        styles += &without_comments(&read(&path)?);
        fs::remove_file(&path)?;
        if first.is_none() {
            first = Some(path);
            lines.push(line);
        }
    }
    let first = first.context("index.html links no style sheet")?;
    fs::write(first, styles)?;
    // Where the others were.
    drop(fs::remove_dir(app.join("views")));
    Ok(lines.join("\n") + "\n")
}

/// Writes the style sheet of the first picture, which `html` shows, from those of `www`.
///
/// # Errors
///
/// If a file cannot be read or written.
pub(super) fn write_mini(www: &Path, app: &Path, html: &str) -> Result<()> {
    let words = words(html);
    let mut styles = String::new();
    for sheet in MINI_SHEETS {
        let style = without_comments(&read(&www.join(sheet))?);
        push_of(&style, &words, &mut styles);
    }
    Ok(fs::write(app.join(MINI_STYLE), styles)?)
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

/// The elements of a page, and their classes with a point before them.
fn words(html: &str) -> HashSet<String> {
    let until = |text: &str, end: fn(char) -> bool| text.split(end).next().unwrap_or("").to_owned();
    let elements = html.split('<').skip(1);
    let elements = elements.map(|text| until(text, |c| !c.is_ascii_alphanumeric()));
    let classes = html.split("class=\"").skip(1);
    let classes = classes.flat_map(|text| {
        let names = until(text, |c| c == '"');
        let names = names.split_whitespace().map(|name| format!(".{name}"));
        names.collect::<Vec<_>>()
    });
    elements
        .chain(classes)
        .chain(ADDED.map(str::to_owned))
        .collect()
}

/// Adds the rules of a style sheet that may be of elements with these words.
fn push_of(style: &str, words: &HashSet<String>, out: &mut String) {
    let mut rest = style;
    while let Some((head, after)) = rest.split_once('{') {
        let mut depth = 1;
        let end = after.find(|c| {
            depth += i32::from(c == '{') - i32::from(c == '}');
            depth == 0
        });
        let (body, next) = after.split_at(end.unwrap_or(after.len()));
        rest = next.strip_prefix('}').unwrap_or(next);
        let head = head.trim();
        if head.starts_with("@media") {
            let mut inner = String::new();
            push_of(body, words, &mut inner);
            if !inner.is_empty() {
                *out += &format!("{head} {{\n{inner}}}\n");
            }
            continue;
        }
        let mut selectors = listed(head);
        selectors.retain(|selector| may_match(selector, words));
        if !selectors.is_empty() {
            *out += &format!("{} {{{body}}}\n", selectors.join(","));
        }
    }
}

/// The selectors of a list. None of ours has a bracket in a text.
fn listed(head: &str) -> Vec<&str> {
    let mut depth = 0;
    let parts = head.split(|c| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        c == ',' && depth == 0
    });
    parts.map(str::trim).collect()
}

/// Whether all elements and classes of a selector are among these. What stands in brackets is not asked.
fn may_match(selector: &str, words: &HashSet<String>) -> bool {
    let mut depth = 0;
    let mut outside = String::new();
    for c in selector.chars() {
        depth += i32::from("([".contains(c));
        if depth == 0 {
            outside.push(c);
        }
        depth -= i32::from(")]".contains(c));
    }
    let compounds = outside.split([' ', '>', '+', '~']);
    let mut named = compounds.flat_map(|compound| {
        // An id or a state says nothing here.
        let named = compound.split([':', '#']).next().unwrap_or("");
        let (element, classes) = named.split_once('.').unwrap_or((named, ""));
        let classes = classes.split('.').filter(|name| !name.is_empty());
        let classes = classes.map(|name| format!(".{name}"));
        let element = Some(element).filter(|name| !["", "*"].contains(name));
        element.map(str::to_owned).into_iter().chain(classes)
    });
    selector.starts_with('@') || named.all(|word| words.contains(&word))
}

/// A style sheet without its comments and its indentation. None of ours has `/*` in a text.
fn without_comments(style: &str) -> String {
    let mut pieces = style.split("/*");
    let mut bare = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        bare += piece.split_once("*/").map_or("", |(_, after)| after);
    }
    let lines = bare.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::{push_of, without_comments, words};

    #[test]
    fn style_sheets_lose_their_comments_alone() {
        assert_eq!(
            without_comments("/* a */\na {\n  /* b\n */ color: red; /* c */\n}\n\nb{}"),
            "a {\ncolor: red;\n}\nb{}\n"
        );
    }

    #[test]
    fn a_first_picture_has_the_rules_of_its_own_elements() {
        let words = words("<main class=\"stage wide\"><canvas></canvas></main>");
        let of = |style: &str| {
            let mut out = String::new();
            push_of(style, &words, &mut out);
            out
        };
        let kept = [
            ":root { a: b }\n",
            "main.stage.wide > canvas:hover { a: b }\n",
            "[data-hint=wheel] .stage::after { a: b }\n",
            ":is(#app, .other) > :not(table) { a: b }\n",
            "*,*::before { a: b }\n",
            "@media (width < 9px) {\n#app span { a: b }\n}\n",
            "@keyframes turn { to { a: b } }\n",
        ];
        assert_eq!(of(&kept.concat()), kept.concat());
        for gone in [
            "table { a: b }\n",
            ".stage.other { a: b }\n",
            ".stage + .other:hover { a: b }\n",
            "@media (width < 9px) { table { a: b } }\n",
        ] {
            assert_eq!(of(gone), "", "{gone}");
        }
        assert_eq!(of("table, canvas { a: b }"), "canvas { a: b }\n");
    }
}
