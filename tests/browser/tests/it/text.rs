//! Error texts: pasted anywhere, typed into the box of the start page, dropped or chosen as files.

use serde_json::json;
use vramscope_browser_tests::Modifiers;

use crate::PATIENCE;
use crate::open::{Open, fixture, open, open_fixture};

/// An error that torch printed.
const ERROR: &str = "RuntimeError: CUDA out of memory. Tried to allocate 2.26 GiB (GPU 0; 6.00 GiB total capacity; 781.59 MiB already allocated; \
                     3.03 GiB free; 1.24 GiB reserved in total by PyTorch)";

/// Pastes a text where an element has the focus.
fn paste(open: &mut Open, selector: &str, text: &str) {
    let script = format!(
        "(() => {{ const clipboardData = new DataTransfer(); clipboardData.setData('text/plain', {}); \
         document.querySelector({}).dispatchEvent(new ClipboardEvent('paste', {{ clipboardData, bubbles: true }})); }})()",
        json!(text),
        json!(selector)
    );
    open.page.eval(&script).unwrap();
}

/// The text of the card, once it appears.
fn card(open: &mut Open) -> String {
    let there = "!!document.querySelector('.told')";
    open.page.wait_for(there, PATIENCE).unwrap();
    open.page.text(".told").unwrap()
}

#[test]
fn an_error_is_pasted_anywhere() {
    let mut open = open_fixture("torch-2.8.0/training.pickle");
    paste(&mut open, "body", ERROR);
    let card = card(&mut open);
    assert!(
        card.contains("Refused although the device had 3.03 GiB free"),
        "{card}"
    );
    assert!(
        card.contains("vramscope dry-run --gpu 6.000GiB -- python train.py"),
        "{card}"
    );
    let bar = "[...document.querySelectorAll('.device-bar .shares:not(.asked) .share')].map(part => part.className).join()";
    let bar = open.page.eval(bar).unwrap();
    assert_eq!(bar, "share others,share live,share reserved,share free");
    // Screen readers get the same from the bar as from its list.
    let tree = open.page.accessibility_tree().unwrap();
    assert!(tree.contains("list \"What holds the device\""), "{tree}");
    assert!(tree.contains("button \"Copy command\""), "{tree}");
    open.check_quiet();
}

#[test]
fn what_is_pasted_into_the_search_stays_there() {
    let mut open = open_fixture("torch-2.8.0/training.pickle");
    paste(&mut open, "#search", ERROR);
    let tabs = open.page.eval("document.querySelectorAll('.tab').length");
    assert_eq!(tabs.unwrap(), 1);
    open.check_quiet();
}

#[test]
fn the_box_of_the_start_page_reads_what_is_pasted_or_typed() {
    let mut open = open("");
    paste(&mut open, "#paste", ERROR);
    assert!(card(&mut open).contains("Refused although"));
    open.page.click_on(".tab.current .close").unwrap();
    open.page
        .wait_for("!!document.querySelector('#paste')", PATIENCE)
        .unwrap();
    open.page.click_on("#paste").unwrap();
    // Letters in there are letters, not the page's keys.
    open.page.type_text("CUDA error: out of memory o?").unwrap();
    assert_eq!(
        open.page
            .eval("document.querySelector('#paste').value")
            .unwrap(),
        "CUDA error: out of memory o?"
    );
    open.page.key("Tab", Modifiers::NONE).unwrap();
    open.page.key("Enter", Modifiers::NONE).unwrap();
    assert!(card(&mut open).contains("does not say how much was asked for"));
    open.check_quiet();
}

#[test]
fn a_log_says_who_failed_first_and_each_failure_has_its_card() {
    let mut open = open("");
    open.choose(&[fixture("text/train.log")]);
    let card_text = card(&mut open);
    for words in [
        "line 10 · rank 1 · transformers · train.py:88 <module>",
        "Others held 6.11 GiB of the device",
        "certain: it follows from the figures",
        "vramscope record -- torchrun --nproc-per-node 2 train.py --batch-size 8",
    ] {
        assert!(card_text.contains(words), "{words} is not in {card_text}");
    }
    let mut log = String::new();
    for rank in 0..4 {
        let held = if rank == 2 { "40.00" } else { "70.00" };
        log += &format!(
            "[rank{rank}]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU {rank} has a total capacity of 79.10 GiB \
             of which 1.00 GiB is free. Of the allocated memory {held} GiB is allocated by PyTorch, and 1.00 GiB is reserved by PyTorch but \
             unallocated.\n"
        );
    }
    paste(&mut open, "body", &log);
    let shown = "document.querySelector('.text-file tr.current button')?.textContent === 'rank 0'";
    open.page.wait_for(shown, PATIENCE).unwrap();
    let notes = open.page.text(".text-notes").unwrap();
    assert!(notes.contains("rank 2 had 40.0 GiB allocated"), "{notes}");
    assert!(
        open.page
            .text("tr.current")
            .unwrap()
            .contains("first to fail")
    );
    open.page
        .click_on(".text-file tbody tr:nth-child(3) button")
        .unwrap();
    open.page
        .wait_for(
            "document.querySelector('.told').textContent.startsWith('line 3 · rank 2')",
            PATIENCE,
        )
        .unwrap();
    open.check_quiet();
}

#[test]
fn the_card_fits_every_window() {
    let mut open = open("");
    for theme in ["light", "dark"] {
        open.page.set_color_scheme(theme).unwrap();
        for (width, height) in [(1280, 720), (420, 800)] {
            open.page.set_viewport(width, height, 1.0).unwrap();
            paste(&mut open, "body", ERROR);
            card(&mut open);
            let wide = "(main => main.scrollWidth > main.clientWidth)(document.querySelector('main.text-file'))";
            assert_eq!(open.page.eval(wide).unwrap(), false, "{theme} {width}");
        }
    }
    open.check_quiet();
}

#[test]
fn the_chart_of_log_lines_follows_the_pointer_and_lets_the_page_scroll() {
    let mut open = open("");
    open.page.set_viewport(900, 400, 1.0).unwrap();
    let line = |step: u32| {
        format!(
            "[Rank 0] (after {step} iterations) memory (MB) | allocated: {}.0 | max allocated: 9000.0 | reserved: 9500.0 | max reserved: 9500.0\n",
            1000 + 100 * step
        )
    };
    paste(&mut open, "body", &(0..60).map(line).collect::<String>());
    open.page
        .wait_for("!!document.querySelector('.course svg')", PATIENCE)
        .unwrap();
    open.page
        .eval("document.querySelector('.course').scrollIntoView({ block: 'center' })")
        .unwrap();
    let (x_px, y_px) = open.page.middle_of(".course").unwrap();
    open.page.mouse_move(x_px, y_px).unwrap();
    let shown = "document.querySelector('.course .tooltip')?.textContent ?? ''";
    let is_shown = format!("({shown}) !== ''");
    open.page.wait_for(&is_shown, PATIENCE).unwrap();
    let in_the_middle = open.page.eval(shown).unwrap();
    open.page.mouse_move(x_px - 200.0, y_px).unwrap();
    let has_moved = format!("({shown}) !== {in_the_middle}");
    open.page.wait_for(&has_moved, PATIENCE).unwrap();

    let scrolled = "document.querySelector('main.text-file').scrollTop";
    let before = open.page.eval(scrolled).unwrap();
    open.page.wheel(x_px, y_px, -60.0, Modifiers::NONE).unwrap();
    let has_scrolled = format!("{scrolled} < {before}");
    open.page.wait_for(&has_scrolled, PATIENCE).unwrap();

    open.page.mouse_move(1.0, 1.0).unwrap();
    open.page
        .wait_for(&format!("({shown}) === ''"), PATIENCE)
        .unwrap();
    open.page.set_viewport(500, 400, 1.0).unwrap();
    let fits =
        "(main => main.scrollWidth === main.clientWidth)(document.querySelector('main.text-file'))";
    open.page.wait_for(fits, PATIENCE).unwrap();
    let is_redrawn = "(course => course.querySelector('svg').getBoundingClientRect().width <= course.clientWidth)(document.querySelector('.course'))";
    open.page.wait_for(is_redrawn, PATIENCE).unwrap();
    open.check_quiet();
}
