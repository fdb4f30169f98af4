//! The page works with the keyboard alone and with a screen reader.

use vramscope_browser_tests::Modifiers;

use crate::PATIENCE;
use crate::open::{open, open_fixture};

#[test]
fn the_tab_key_reaches_everything_and_shows_where_it_is() {
    let mut open = open_fixture("torch-2.8.0/training.pickle");
    let mut reached = Vec::new();
    for _ in 0..60 {
        open.page.key("Tab", Modifiers::NONE).unwrap();
        let element = open
            .page
            .eval(
                "(() => { const element = document.activeElement; \
                 const style = getComputedStyle(element); \
                 return [element.className || element.tagName, style.outlineStyle !== 'none' \
                 || style.boxShadow !== 'none' || element.matches('.stage, body') \
                 || !!element.parentElement?.matches('.search-field:focus-within')] })()",
            )
            .unwrap();
        let name = element[0].as_str().unwrap_or_default().to_owned();
        assert_eq!(
            element[1], true,
            "{name} does not show that it has the focus"
        );
        reached.push(name);
    }
    for wanted in ["brand", "name", "SELECT", "stage", "resizer"] {
        assert!(
            reached.iter().any(|name| name.contains(wanted)),
            "no {wanted} in {reached:?}"
        );
    }
}

#[test]
fn keys_move_the_timeline() {
    let mut open = open_fixture("torch-2.8.0/training.pickle");
    open.page
        .eval("document.querySelector('.stage').focus()")
        .unwrap();
    open.repainted(|page| page.key("w", Modifiers::NONE).unwrap());
    let near = open.shown_part();
    assert!(near < 0.99, "w did not zoom in");
    let left = "document.querySelector('.brush').getBoundingClientRect().x";
    let before = open.page.eval(left).unwrap();
    open.repainted(|page| page.key("ArrowRight", Modifiers::NONE).unwrap());
    assert!(open.page.eval(left).unwrap().as_f64() > before.as_f64());
    open.repainted(|page| page.key("0", Modifiers::NONE).unwrap());
    assert!(open.shown_part() > 0.99);
    open.repainted(|page| page.key("p", Modifiers::NONE).unwrap());
    open.check_quiet();
}

#[test]
fn help_opens_and_closes() {
    let mut open = open("");
    open.page.key("?", Modifiers::SHIFT).unwrap();
    open.page
        .wait_for("!!document.querySelector('[role=dialog]')", PATIENCE)
        .unwrap();
    assert!(open.page.text("[role=dialog]").unwrap().contains("zoom"));
    open.page.key("Escape", Modifiers::NONE).unwrap();
    open.page
        .wait_for("!document.querySelector('[role=dialog]')", PATIENCE)
        .unwrap();
    open.check_quiet();
}

/// Every control has a name for screen readers.
#[test]
fn everything_operable_has_a_name() {
    for mut open in [open(""), open_fixture("torch-2.8.0/training.pickle")] {
        let tree = open.page.accessibility_tree().unwrap();
        let nameless: Vec<_> = tree
            .lines()
            .map(str::trim)
            .filter(|line| {
                [
                    "button",
                    "combobox",
                    "tab",
                    "radio",
                    "application",
                    "separator",
                    "link",
                ]
                .iter()
                .any(|role| *line == format!("{role} \"\""))
            })
            .collect();
        assert!(nameless.is_empty(), "{nameless:?} in\n{tree}");
    }
}
