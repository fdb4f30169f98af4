//! Using the timeline: hover, pin, zoom, pan, devices.

use vramscope_browser_tests::Modifiers;

use crate::PATIENCE;
use crate::open::{Open, open, open_fixture};

/// The first sample: a training run, with thousands of allocations.
fn open_sample() -> Open {
    let mut open = open("");
    open.page.click_on(".sample").unwrap();
    open.painted();
    open
}

/// A point in the middle of the picture's lower part, where memory is always in use.
fn on_memory(open: &mut Open) -> (f64, f64) {
    open.point(0.6, 0.8)
}

#[test]
fn hovering_says_what_is_there() {
    let mut open = open_sample();
    let (x_px, y_px) = on_memory(&mut open);
    open.page.mouse_move(x_px, y_px).unwrap();
    open.page
        .wait_for("!!document.querySelector('.tooltip')", PATIENCE)
        .unwrap();
    let text = open.page.text(".tooltip").unwrap();
    assert!(text.lines().count() >= 3, "{text}");
    assert!(text.contains("iB"), "no size in {text}");
    assert!(text.contains(".py:"), "no call site in {text}");
    // Above all memory there is no tooltip.
    let (x_px, y_px) = open.point(0.6, 0.02);
    open.page.mouse_move(x_px, y_px).unwrap();
    open.page
        .wait_for("!document.querySelector('.tooltip')", PATIENCE)
        .unwrap();
    open.check_quiet();
}

#[test]
fn a_click_pins_and_escape_lets_go() {
    let mut open = open_sample();
    let (x_px, y_px) = on_memory(&mut open);
    open.page.click(x_px, y_px, 1).unwrap();
    // The allocation's name: its address, and the number of earlier allocations there.
    let pinned = r"/\bb[0-9a-f]{6,}_\d+\b/.test(document.querySelector('.details').innerText)";
    open.page.wait_for(pinned, PATIENCE).unwrap();
    let details = open.page.text(".details").unwrap();
    for word in ["bytes", "event", ".py"] {
        assert!(details.contains(word), "no {word} in {details}");
    }
    open.page.key("Escape", Modifiers::NONE).unwrap();
    open.page.wait_for(&format!("!{pinned}"), PATIENCE).unwrap();
    open.check_quiet();
}

#[test]
fn the_wheel_zooms_and_zero_shows_all() {
    let mut open = open_sample();
    let (x_px, y_px) = on_memory(&mut open);
    assert!(open.shown_part() > 0.99);
    open.repainted(|page| page.wheel(x_px, y_px, -600.0, Modifiers::NONE).unwrap());
    let near = open.shown_part();
    assert!(near < 0.7, "the wheel did not zoom: {near}");
    open.repainted(|page| page.wheel(x_px, y_px, 200.0, Modifiers::NONE).unwrap());
    assert!(open.shown_part() > near, "the wheel did not zoom out");
    open.repainted(|page| page.key("0", Modifiers::NONE).unwrap());
    assert!(open.shown_part() > 0.99);
    open.check_quiet();
}

#[test]
fn bitmaps_are_closed() {
    let mut open = open_sample();
    let count = "globalThis.closes = 0;
        const close = ImageBitmap.prototype.close;
        ImageBitmap.prototype.close = function () { closes += 1; close.call(this); };";
    open.page.eval(count).unwrap();
    let (x_px, y_px) = on_memory(&mut open);
    for _ in 0..3 {
        open.repainted(|page| page.wheel(x_px, y_px, -100.0, Modifiers::NONE).unwrap());
    }
    open.page.wait_for("closes >= 2", PATIENCE).unwrap();
    open.check_quiet();
}

#[test]
fn dragging_pans() {
    let mut open = open_sample();
    let (x_px, y_px) = on_memory(&mut open);
    open.repainted(|page| page.wheel(x_px, y_px, -600.0, Modifiers::NONE).unwrap());
    let left = "document.querySelector('.brush').getBoundingClientRect().x";
    let (part, before) = (open.shown_part(), open.page.eval(left).unwrap());
    let to = (x_px + 150.0, y_px);
    open.repainted(|page| page.drag((x_px, y_px), to, 8, Modifiers::NONE).unwrap());
    let after = open.page.eval(left).unwrap();
    assert!(
        after.as_f64() < before.as_f64(),
        "dragging right shows what is further left"
    );
    assert!((open.shown_part() - part).abs() < 0.01, "dragging zoomed");
    open.check_quiet();
}

#[test]
fn turning_the_wheel_renders_no_component() {
    let mut open = open_sample();
    open.page.wait_until_settled(PATIENCE).unwrap();
    let (x_px, y_px) = on_memory(&mut open);
    // Ten turns in ten frames, and what they add, remove or write in the document: a component that renders the lengths of
    // things anew changes texts or elements. Busy machines may take so long for a frame that the picture rests meanwhile,
    // which renders: then again.
    let turns = format!(
        "(async () => {{
            const picture = document.elementFromPoint({x_px}, {y_px});
            for (let attempt = 0; attempt < 20; attempt++) {{
                await new Promise(done => setTimeout(done, 500));
                const changes = [];
                const observer = new MutationObserver(list => changes.push(...list));
                observer.observe(document.body, {{ subtree: true, childList: true, characterData: true }});
                let longest = 0, last = performance.now();
                for (let turn = 0; turn < 10; turn++) {{
                    const event = {{ deltaY: -30, clientX: {x_px}, clientY: {y_px}, bubbles: true, cancelable: true }};
                    picture.dispatchEvent(new WheelEvent('wheel', event));
                    await new Promise(requestAnimationFrame);
                    longest = Math.max(longest, performance.now() - last);
                    last = performance.now();
                }}
                changes.push(...observer.takeRecords());
                observer.disconnect();
                if (longest < 80) {{
                    return changes.map(change => change.type + ' in ' + (change.target.className || change.target.nodeName)).join();
                }}
            }}
            return 'never ten frames without a pause';
        }})()"
    );
    let changed = open.page.eval(&turns).unwrap();
    assert_eq!(changed, "", "changed while the wheel was turned");
    open.check_quiet();
}

#[test]
fn a_double_click_fits_an_allocation() {
    let mut open = open_sample();
    let (x_px, y_px) = open.point(0.4, 0.5);
    open.repainted(|page| page.click(x_px, y_px, 2).unwrap());
    assert!(open.shown_part() < 0.99, "nothing was fitted");
    open.check_quiet();
}

#[test]
fn another_device_can_be_chosen() {
    let mut open = open_fixture("torch-2.15.0/two_devices.pickle");
    let devices = open
        .page
        .eval("document.querySelectorAll('.topbar select')[0].options.length");
    assert_eq!(devices.unwrap(), 2);
    let heading = open.page.text(".details").unwrap();
    open.repainted(|page| {
        page.eval("document.querySelector('.topbar select').focus()")
            .unwrap();
        page.key("ArrowDown", Modifiers::NONE).unwrap();
    });
    assert_ne!(open.page.text(".details").unwrap(), heading);
    open.check_quiet();
}

/// Each device's option ends in its peak, and the highest peak comes first.
#[test]
fn the_device_with_the_highest_peak_is_first() {
    let mut open = open_fixture("synth/scenario-multi-device.pickle");
    let names = open
        .page
        .eval("[...document.querySelector('.topbar select').options].map(option => option.text)")
        .unwrap();
    let peaks: Vec<f64> = names
        .as_array()
        .unwrap()
        .iter()
        .map(|name| size(name.as_str().unwrap()))
        .collect();
    assert!(peaks.len() > 1, "{names}");
    assert!(peaks.is_sorted_by(|a, b| a >= b), "{names}");
}

/// The size at the end of a device's name, in bytes.
fn size(name: &str) -> f64 {
    let mut words = name.rsplit(' ');
    let unit = match words.next() {
        Some("GiB") => 1024.0 * 1024.0 * 1024.0,
        Some("MiB") => 1024.0 * 1024.0,
        Some("KiB") => 1024.0,
        _ => 1.0,
    };
    words.next().unwrap().parse::<f64>().unwrap() * unit
}
