//! Selections and pins, which all views follow: checked against core's numbers.

use vramscope_browser_tests::Modifiers;
use vramscope_core::analysis::recording::Recording;
use vramscope_core::analysis::time::selection::{Moments, Selection};
use vramscope_view::display;

use crate::PATIENCE;
use crate::open::{Open, fixture, open, open_fixture};

const FILE: &str = "synth/scenario-annotated.pickle";
const OOM: &str = "torch-2.15.0/oom_observer.pickle";

fn recording(name: &str) -> Recording {
    let bytes = std::fs::read(fixture(name)).unwrap();
    Recording::of(vramscope_core::decode(&bytes[..]).unwrap())
}

/// Number and bytes of the selected allocations of the first device.
fn sums(recording: &Recording, selection: Selection) -> (u64, u64) {
    let history = recording.device(0).unwrap().history;
    let selected = selection.allocations(history);
    selected.fold((0, 0), |(count, bytes), id| {
        (count + 1, bytes + history.allocations.bytes[id.index()])
    })
}

fn wait(open: &mut Open, until: &str) {
    if open.page.wait_for(until, PATIENCE).is_err() {
        let details = open.page.text(".details");
        panic!("never {until}; details: {details:?}");
    }
}

fn wait_for_text(open: &mut Open, selector: &str, text: &str) {
    wait(
        open,
        &format!("document.querySelector('{selector}')?.innerText.includes({text:?})"),
    );
}

/// Waits until the legend has this title, and the numbers of its rows' allocations this sum.
fn wait_for_legend(open: &mut Open, title: &str, count: u64) {
    let legend = format!(
        "document.querySelector('.legend h3')?.innerText.startsWith({title:?}) && \
         [...document.querySelectorAll('.legend li')].map(row => row.title || row.firstElementChild.title) \
         .map(text => +(/ · ([\\d,]+) allocation/.exec(text)?.[1] ?? '0').replaceAll(',', '')).reduce((sum, of) => sum + of, 0) === {count}"
    );
    wait(open, &legend);
}

/// Goes to a view by its key.
fn go(open: &mut Open, key: &str, view: &str) {
    open.page.key(key, Modifiers::NONE).unwrap();
    wait(
        open,
        &format!("!!document.querySelector('.rail [data-view={view}][aria-current]')"),
    );
}

/// Waits until the chosen option of the flame graph's list of selections has this text.
fn wait_for_flame(open: &mut Open, text: &str) {
    let chosen = format!(
        "[...document.querySelectorAll('.flame-tools option')].some(of => of.selected && of.textContent === {text:?})"
    );
    wait(open, &chosen);
}

fn wait_for_flame_bytes(open: &mut Open, bytes: u64) {
    wait_for_text(open, ".flame-head strong", &display::bytes(bytes));
}

#[test]
fn all_views_follow_the_cursor() {
    let read = recording(FILE);
    let peak = read.device(0).unwrap().history.peak_moment;
    let mut open = open_fixture(FILE);
    let at_peak = sums(&read, Selection::LiveAt(peak));
    wait_for_legend(&mut open, "Live at the peak", at_peak.0);

    go(&mut open, "5", "allocator");
    wait(&mut open, "!!document.querySelector('.state-events .vrow')");
    open.page.key("Home", Modifiers::NONE).unwrap();
    open.page.key("PageDown", Modifiers::NONE).unwrap();
    let number = "+document.querySelector('.state-number input').value.replaceAll(',', '')";
    wait(&mut open, &format!("{number} > 0"));
    let moment = open.page.eval(number).unwrap().as_u64().unwrap() as u32;
    let here = sums(&read, Selection::LiveAt(moment));
    assert_ne!(here, at_peak);
    let title = format!("Live at {}", display::event(u64::from(moment)));
    wait_for_legend(&mut open, &title, here.0);

    go(&mut open, "6", "flame");
    let words = format!("selected: live at {}", display::event(u64::from(moment)));
    wait_for_flame(&mut open, &words);
    wait_for_flame_bytes(&mut open, here.1);

    // The table lists all and, if chosen, what is live there.
    go(&mut open, "7", "table");
    open.page.click_on(".table-bar .limits button").unwrap();
    let listed = format!("{} allocations", display::count(here.0));
    wait_for_text(&mut open, ".table-bar .sums", &listed);

    // The event there, by the keyboard.
    open.page.key("e", Modifiers::NONE).unwrap();
    wait_for_text(&mut open, ".details h2", "Pinned event");
    go(&mut open, "5", "allocator");
    open.page.key("ArrowDown", Modifiers::NONE).unwrap();
    let next = format!("location.hash.includes('at={}&pin=event')", moment + 1);
    wait(&mut open, &next);
    open.page.key("Escape", Modifiers::NONE).unwrap();
    wait_for_text(&mut open, ".details h2", "Device");
    open.page.key("Enter", Modifiers::NONE).unwrap();
    wait(&mut open, &next);
    for _ in 0..2 {
        open.page.key("Escape", Modifiers::NONE).unwrap();
    }
    wait_for_legend(&mut open, "Live at the peak", at_peak.0);
    open.check_quiet();
}

/// The flame graph below the timeline follows the dragged cursor, and the box under the pointer lights up above.
#[test]
fn the_graph_below_the_timeline_follows_the_cursor() {
    const PICTURE: &str = "document.querySelector('.stage canvas').toDataURL()";
    let read = recording(FILE);
    let mut open = open_fixture(FILE);
    go(&mut open, "2", "timeline");
    open.page.key("g", Modifiers::NONE).unwrap();
    let has_boxes = "!!document.querySelector('.below .flame-scroll[data-boxes]')";
    wait(&mut open, has_boxes);
    let heights = "['.stage', '.below'].map(part => document.querySelector(part).clientHeight)";
    let heights = open.page.eval(heights).unwrap();
    assert!(heights[0].as_f64().unwrap() >= 180.0 && heights[1].as_f64().unwrap() >= 200.0);

    // Along the x axis.
    let axis = |open: &mut Open, part: f64| {
        let (x, y) = open.point(part, 1.0);
        (x, y - 10.0)
    };
    let (from, to) = (axis(&mut open, 0.8), axis(&mut open, 0.4));
    open.page.drag(from, to, 8, Modifiers::NONE).unwrap();
    wait(&mut open, "/&at=[0-9]+/.test(location.hash)");
    let moment = "+/&at=([0-9]+)/.exec(location.hash)[1]";
    let moment = open.page.eval(moment).unwrap().as_u64().unwrap() as u32;
    let here = sums(&read, Selection::LiveAt(moment));
    let words = format!("live at {}", display::event(u64::from(moment)));
    wait_for_text(&mut open, ".below .of-what", &words);
    wait_for_flame_bytes(&mut open, here.1);

    // The second row, below the root, is a part of the live memory. Until the picture is sharp, it changes by itself.
    let rests = "(seen => (window.seen = seen[1], seen[0] === seen[1]))([window.seen, ";
    wait(&mut open, &format!("{rests}{PICTURE}])"));
    let dark = open.page.eval(PICTURE).unwrap();
    let place = "(({ x, y }) => [x + 20, y + 30])(document.querySelector('.below .flame-scroll').getBoundingClientRect())";
    let place = open.page.eval(place).unwrap();
    let (x, y) = (place[0].as_f64().unwrap(), place[1].as_f64().unwrap());
    open.page.mouse_move(x, y).unwrap();
    wait(&mut open, &format!("{PICTURE} !== {dark}"));
    open.page.mouse_move(x, 20.0).unwrap();
    wait(&mut open, &format!("{PICTURE} === {dark}"));

    // By keyboard: boxes, the edge between the halves, the cursor, and away again.
    open.page
        .eval("document.querySelector('.below .flame-scroll').focus()")
        .unwrap();
    open.page.key("ArrowDown", Modifiers::NONE).unwrap();
    open.page.key("ArrowDown", Modifiers::NONE).unwrap();
    wait(
        &mut open,
        "!!document.querySelector('.below .flame-outline')",
    );
    open.page
        .eval("document.querySelector('.below .resizer').focus()")
        .unwrap();
    open.page.key("ArrowUp", Modifiers::NONE).unwrap();
    wait(&mut open, "/split.percent=4[6-9]/.test(location.hash)");
    open.page
        .eval("document.querySelector('.stage').focus()")
        .unwrap();
    open.page.key("ArrowRight", Modifiers::SHIFT).unwrap();
    wait(
        &mut open,
        &format!("!location.hash.includes('&at={moment}&')"),
    );
    open.page.key("g", Modifiers::NONE).unwrap();
    wait(&mut open, "!document.querySelector('.below')");
    open.check_quiet();
}

/// The selected range, as shown in the panel.
fn range(open: &mut Open) -> Moments {
    wait(open, "!!document.querySelector('.selected-range b')");
    let text = open.page.text(".selected-range b").unwrap();
    let number = |text: &str| text.replace(',', "").parse::<u32>().unwrap();
    let (first, last) = text
        .strip_prefix("Events ")
        .unwrap()
        .split_once(" to ")
        .unwrap();
    (number(first) - 1, number(last))
}

#[test]
fn all_views_follow_a_range() {
    let read = recording(FILE);
    let mut open = open_fixture(FILE);
    let (from, to) = (open.point(0.3, 0.3), open.point(0.5, 0.3));
    open.page.drag(from, to, 5, Modifiers::SHIFT).unwrap();
    let moments = range(&mut open);
    let allocated = sums(&read, Selection::AllocatedIn(moments));
    wait_for_legend(&mut open, "Allocated in the range", allocated.0);

    // The panel's three figures; the third is selected.
    let freed = sums(&read, Selection::FreedIn(moments));
    let held = sums(&read, Selection::RetainedFrom(moments));
    for (place, (count, bytes)) in [allocated, held, freed].into_iter().enumerate() {
        let row = format!(".selected-range li:nth-child({})", place + 1);
        wait_for_text(&mut open, &row, &display::count(count));
        wait_for_text(&mut open, &row, &display::bytes(bytes));
    }
    open.page
        .click_on(".selected-range li:nth-child(3) button")
        .unwrap();
    wait_for_legend(&mut open, "Freed in the range", freed.0);
    go(&mut open, "6", "flame");
    wait_for_flame(&mut open, "selected: freed in the range");
    wait_for_flame_bytes(&mut open, freed.1);
    go(&mut open, "7", "table");
    wait_for_text(&mut open, ".table-bar .limits", "freed in the range");
    let listed = format!("{} allocation", display::count(freed.0));
    wait_for_text(&mut open, ".table-bar .sums", &listed);
    open.page.click_on(".table-bar .limits button").unwrap();
    let all = read.device(0).unwrap().history.allocations.bytes.len() as u64;
    let all = format!("{} allocations", display::count(all));
    wait_for_text(&mut open, ".table-bar .sums", &all);

    // The comparison is between the range's ends.
    open.page
        .click_on(".selected-range .tools button:nth-child(2)")
        .unwrap();
    let event = |side: &str, moment: u32| {
        let value = display::count(u64::from(moment));
        format!("document.querySelector('.compare .side.{side} .event input')?.value === {value:?}")
    };
    wait(&mut open, &event("a", moments.0));
    wait(&mut open, &event("b", moments.1));
    go(&mut open, "2", "timeline");
    open.repainted(|page| {
        page.click_on(".selected-range .tools button:nth-child(1)")
            .unwrap()
    });
    assert!(open.shown_part() < 0.3, "zoomed to {}", open.shown_part());
    open.page.key("Escape", Modifiers::NONE).unwrap();
    wait(&mut open, "!document.querySelector('.selected-range')");
    open.check_quiet();
}

#[test]
fn a_failed_request_is_pinned_with_its_stack() {
    let mut open = open_fixture(OOM);
    // The whole stack of the request, with the user's frames in bold.
    let is_pinned = "document.querySelector('.details h2')?.innerText === 'Pinned event' && \
        !!document.querySelector('.details .stack li.user')";
    for label in [".stage .oom", ".banner button:nth-of-type(2)"] {
        open.page.click_on(label).unwrap();
        wait(&mut open, is_pinned);
        for text in [
            "oom",
            "11.7 MiB",
            "8.00 MiB",
            "record_gpu.py:355",
            "12,284,928 bytes",
        ] {
            wait_for_text(&mut open, ".details", text);
        }
        open.page.key("Escape", Modifiers::NONE).unwrap();
        wait(&mut open, &format!("!({is_pinned})"));
    }
    open.check_quiet();
}

#[test]
fn a_chosen_event_leads_to_the_others_of_its_allocation() {
    let read = recording(FILE);
    let history = read.device(0).unwrap().history;
    let mut open = open_fixture(FILE);
    go(&mut open, "5", "allocator");
    wait(&mut open, "!!document.querySelector('.state-events .vrow')");
    open.page.key("Home", Modifiers::NONE).unwrap();
    // The first allocation that is freed later.
    let row = (0..history.allocations.born.len())
        .find(|&row| {
            history.allocations.born[row] > 0
                && history.allocations.died[row] <= history.event_count
        })
        .unwrap();
    let lives = &history.allocations;
    let (born, died) = (lives.born[row], lives.died[row]);
    let typed = format!(
        "(() => {{ const input = document.querySelector('.state-number input'); input.value = '{born}'; \
         input.dispatchEvent(new Event('change', {{ bubbles: true }})); }})()"
    );
    open.page.eval(&typed).unwrap();
    // Another row was active before, at the list's position then.
    wait(
        &mut open,
        &format!(
            "location.hash.includes('at={born}') && !!document.querySelector('.state-events .vrow.active')"
        ),
    );
    open.page.click_on(".state-events .vrow.active").unwrap();
    wait_for_text(&mut open, ".details h2", "Pinned event");
    let name = display::allocation_id(lives.address[row], lives.version[row]);
    wait_for_text(&mut open, ".details .of-allocation", &name);
    wait_for_text(&mut open, ".details", &display::bytes(lives.bytes[row]));
    // By a link to the event that freed it, then to the allocation itself.
    let freed = display::event(u64::from(died));
    wait_for_text(&mut open, ".details .of-allocation", &freed);
    open.page
        .click_on(".details .of-allocation dd .plain")
        .unwrap();
    wait(
        &mut open,
        &format!("location.hash.includes('pin=event') && !location.hash.includes('&at={born}&')"),
    );
    open.page
        .click_on(".details .of-allocation h3 + button")
        .unwrap();
    wait_for_text(&mut open, ".details h2", "Pinned allocation");
    wait_for_text(&mut open, ".details .id", &name);
    open.check_quiet();
}

#[test]
fn bands_that_share_a_pixel_are_pinned_together() {
    let mut open = open("");
    open.page.click_on(".sample").unwrap();
    open.painted();
    // Somewhere in the picture bands are thinner than a pixel.
    let mut shared = None;
    'places: for across in [0.5, 0.6, 0.7, 0.4, 0.3] {
        for down in (2..98).step_by(2) {
            let at = open.point(across, f64::from(down) / 100.0);
            open.page.mouse_move(at.0, at.1).unwrap();
            open.page
                .pause(std::time::Duration::from_millis(40))
                .unwrap();
            let tip = "document.querySelector('.tooltip')?.innerText ?? ''";
            let tip = open.page.eval(tip).unwrap();
            if tip.as_str().unwrap_or("").contains("share this pixel") {
                shared = Some(at);
                break 'places;
            }
        }
    }
    let at = shared.expect("a pixel that bands share");
    open.page.click(at.0, at.1, 1).unwrap();
    wait_for_text(&mut open, ".details h2", "Pinned group");
    wait(
        &mut open,
        "!!document.querySelector('.details .group-list button')",
    );
    assert!(open.shown_part() > 0.99, "a click moves nothing");
    // One of them can be pinned alone.
    open.page.click_on(".details .group-list button").unwrap();
    wait_for_text(&mut open, ".details h2", "Pinned allocation");
    open.repainted(|page| page.click(at.0, at.1, 2).unwrap());
    wait(&mut open, "!document.querySelector('.strip .seen[hidden]')");
    assert!(open.shown_part() < 0.5, "a double click goes closer");
    open.check_quiet();
}

#[test]
fn a_call_site_of_the_overview_leads_to_its_call_paths() {
    let mut open = open_fixture(FILE);
    go(&mut open, "1", "overview");
    wait(&mut open, "!!document.querySelector('.sites .rows button')");
    // The last card moves everything below it.
    wait_for_text(&mut open, ".overview", "would be reserved with");
    open.page.click_on(".sites .rows button").unwrap();
    wait(
        &mut open,
        "!!document.querySelector('.rail [data-view=flame][aria-current]')",
    );
    wait(&mut open, "document.querySelector('#search').value !== ''");
    open.check_quiet();
}
