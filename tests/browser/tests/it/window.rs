//! The page fits its window, in both themes.

use std::time::Duration;

use vramscope_browser_tests::{Modifiers, page_folder};

use crate::PATIENCE;
use crate::open::{open, open_fixture, open_in};

const FIXTURE: &str = "torch-2.8.0/training.pickle";

const SIZES_PX: [(u32, u32, f64); 4] = [
    (1280, 720, 1.0),
    (1440, 900, 2.0),
    (1920, 1080, 1.5),
    (3840, 1600, 1.0),
];

#[test]
fn nothing_sticks_out() {
    for (mut open, may_scroll) in [(open(""), true), (open_fixture(FIXTURE), false)] {
        for (width_px, height_px, scale) in SIZES_PX {
            open.page.set_viewport(width_px, height_px, scale).unwrap();
            open.page.pause(Duration::from_millis(300)).unwrap();
            let seen = open.page.eval(SCROLLED_SIZE).unwrap();
            let (width, height) = (seen[0].as_u64().unwrap(), seen[1].as_u64().unwrap());
            assert!(
                width <= u64::from(width_px),
                "{width} in {width_px} px across"
            );
            // The start page is text, and may be longer than a low window.
            assert!(
                may_scroll || height <= u64::from(height_px),
                "{height} in {height_px} px"
            );
        }
        open.check_quiet();
    }
}

#[test]
fn the_picture_has_a_pixel_for_every_pixel() {
    let mut open = open_fixture(FIXTURE);
    for (width_px, height_px, scale) in SIZES_PX {
        open.page.set_viewport(width_px, height_px, scale).unwrap();
        let fits = format!("devicePixelRatio === {scale} && innerWidth === {width_px} && {EXACT}");
        open.page.wait_for(&fits, PATIENCE).unwrap();
    }
}

/// The document's size, including the parts outside the window.
const SCROLLED_SIZE: &str = "(({scrollWidth, scrollHeight}) => \
    [scrollWidth, scrollHeight])(document.scrollingElement)";

/// Whether all canvases of the timeline have the screen's resolution.
const EXACT: &str = "[...document.querySelectorAll('.stage canvas')].every(canvas => \
    Math.abs(canvas.width - canvas.getBoundingClientRect().width * devicePixelRatio) <= 1)";

/// The picture's share of the window's height, without its axes, and the verdict above it, in percent; or the problem
/// with the rail.
const SHARE: &str = "(() => {
  const rail = document.querySelector('.rail').getBoundingClientRect();
  const views = [...document.querySelectorAll('.rail button')].map(view => view.getBoundingClientRect());
  const isApart = (a, b) => a.bottom <= b.top || b.bottom <= a.top || a.right <= b.left || b.right <= a.left;
  const areApart = boxes => boxes.every((a, at) => boxes.slice(at + 1).every(b => isApart(a, b)));
  if (!areApart(views)) return 'views overlap';
  if (views.some(view => view.bottom > rail.bottom || view.height < 20)) return 'views are cut off';
  const parts = [...document.querySelectorAll('.topbar :is(input, select, button)')].filter(part => part.checkVisibility());
  const bar = parts.map(part => part.getBoundingClientRect()).filter(part => part.width > 1);
  if (!areApart(bar)) return 'parts of the bar overlap';
  if (bar.some(part => part.right > innerWidth)) return 'the bar is too long';
  const device = document.querySelector('.topbar > label select');
  const whole = Object.assign(device.cloneNode(true), { style: 'position: absolute; max-width: none' });
  device.parentElement.append(whole);
  const isCut = device.offsetWidth < whole.offsetWidth;
  whole.remove();
  if (innerWidth >= 700 && isCut) return 'the peak of the device is cut';
  const verdict = document.querySelector('.banner.verdict')?.offsetHeight ?? 0;
  return (document.querySelector('.stage').clientHeight - 38 + verdict) / innerHeight * 100;
})()";

/// Frames in texts are low. There the picture has most of the height, whatever else a file has.
#[test]
fn in_a_low_frame_the_picture_comes_first() {
    for sample in ["training", "out-of-memory"] {
        let query = format!("?mode=embed&src=samples/{sample}.pickle.gz");
        let mut open = open_in(&page_folder(), &query);
        open.painted();
        for height_px in [200, 300, 400, 478, 640] {
            for width_px in [360, 700, 1280] {
                open.page.set_viewport(width_px, height_px, 1.0).unwrap();
                open.page.pause(Duration::from_millis(200)).unwrap();
                let share = open.page.eval(SHARE).unwrap();
                // On a phone the choices take three lines.
                let least = if (width_px, height_px) == (360, 640) {
                    45.0
                } else {
                    50.0
                };
                let is_enough = share.as_f64().is_some_and(|percent| percent > least);
                assert!(is_enough, "{sample} in {width_px} × {height_px}: {share}");
            }
        }
        open.check_quiet();
    }
}

/// Space is reserved for the verdict before it is known, so that the picture below does not move.
#[test]
fn nothing_moves_when_the_verdict_is_known() {
    for sample in ["out-of-memory.pickle.gz", "leak.pickle.gz"] {
        let mut open = open_in(&page_folder(), &format!("?src=samples/{sample}"));
        open.painted();
        for (width_px, height_px) in [(390, 844), (760, 800), (1280, 720), (900, 400)] {
            open.page.set_viewport(width_px, height_px, 1.0).unwrap();
            let tops = open.page.eval(TOPS).unwrap();
            assert_eq!(
                tops[0], tops[1],
                "{sample} in {width_px} × {height_px}: {tops}"
            );
        }
        open.check_quiet();
    }
}

/// Where the views begin below a one-character verdict, and below the whole one.
const TOPS: &str = "(async () => {
  let verdict = null;
  // Looked up again each time: the first one may have left the page.
  while (!(verdict?.textContent.length >= 30)) {
    await new Promise(requestAnimationFrame);
    verdict = document.querySelector('.banner.verdict p');
  }
  const top = () => document.querySelector('.workspace').getBoundingClientRect().top;
  const [whole, said] = [top(), verdict.firstChild.data];
  verdict.firstChild.data = '…';
  const before = top();
  verdict.firstChild.data = said;
  return [before, whole];
})()";

/// On a phone "Explain" shows the finding itself, although it is below the figures, where the details would cover it.
#[test]
fn what_is_explained_is_on_the_screen() {
    let mut open = open_fixture("torch-2.15.0/oom_after.pickle");
    open.page.set_viewport(390, 844, 1.0).unwrap();
    open.page.click_on(".banner button.plain").unwrap();
    let seen = "(() => {
      const place = document.querySelector('.finding.problem')?.getBoundingClientRect();
      if (!place) return false;
      const at = document.elementFromPoint(place.left + 20, place.top + 20);
      return place.top < innerHeight / 2 && !!at?.closest('.finding.problem');
    })()";
    open.page.wait_for(seen, PATIENCE).unwrap();
    open.check_quiet();
}

/// On a phone the whole comparison fits the width.
#[test]
fn the_comparison_fits_a_phone() {
    let mut open = open_fixture(FIXTURE);
    open.page.key("8", Modifiers::NONE).unwrap();
    open.page
        .wait_for("!!document.querySelector('.site-rows .change')", PATIENCE)
        .unwrap();
    open.page.key("i", Modifiers::NONE).unwrap();
    open.page.set_viewport(390, 844, 1.0).unwrap();
    let outside = "[...document.querySelectorAll('.compare *')].filter(of => of.checkVisibility() && \
        of.getBoundingClientRect().right > innerWidth).map(of => of.className)";
    open.page
        .wait_for(&format!("{outside}.length === 0"), PATIENCE)
        .unwrap();
    open.check_quiet();
}

/// On the smallest phone all choices of the flame graph fit the width.
#[test]
fn the_choices_of_the_flame_graph_fit_the_smallest_phone() {
    let mut open = open_fixture(FIXTURE);
    open.page.set_viewport(320, 640, 1.0).unwrap();
    open.page.key("6", Modifiers::NONE).unwrap();
    let outside = "[...document.querySelectorAll('.flame-tools *')].filter(of => of.checkVisibility() && \
        of.getBoundingClientRect().right > innerWidth).length";
    open.page
        .wait_for(
            &format!("!!document.querySelector('.flame-tools') && {outside} === 0"),
            PATIENCE,
        )
        .unwrap();
    open.check_quiet();
}

/// The page shows its version, and links to the documentation if that lies beside it.
#[test]
fn the_help_leads_to_the_documentation() {
    let mut open = open("");
    let about = "document.querySelector('.start .about').innerText";
    let version = format!("vramscope {}", env!("CARGO_PKG_VERSION"));
    assert_eq!(open.page.eval(about).unwrap(), version.as_str());
    open.page
        .eval("document.head.insertAdjacentHTML('beforeend', '<link rel=help href=book/>'); null")
        .unwrap();
    open.page.key("?", Modifiers::SHIFT).unwrap();
    let link = "document.querySelector('.dialog .about a')?.href.endsWith('/book/')";
    open.page.wait_for(link, PATIENCE).unwrap();
    open.check_quiet();
}

/// Text has enough contrast to its background in both themes.
#[test]
fn both_themes_are_legible() {
    let mut open = open_fixture(FIXTURE);
    for scheme in ["light", "dark"] {
        open.page.set_color_scheme(scheme).unwrap();
        open.page.pause(Duration::from_millis(300)).unwrap();
        let faint = open.page.eval(FAINT_TEXT).unwrap();
        assert_eq!(faint.as_array().unwrap().len(), 0, "{scheme}: {faint:#}");
    }
    open.check_quiet();
}

/// All texts with a contrast to their background below 4.5 : 1.
const FAINT_TEXT: &str = r#"(() => {
  const context = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const rgba = colour => {
    context.clearRect(0, 0, 1, 1);
    context.fillStyle = colour;
    context.fillRect(0, 0, 1, 1);
    return [...context.getImageData(0, 0, 1, 1).data];
  };
  const channel = value => {
    value /= 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  };
  const luminance = ([red, green, blue]) =>
    0.2126 * channel(red) + 0.7152 * channel(green) + 0.0722 * channel(blue);
  const background = element => {
    for (; element; element = element.parentElement) {
      const colour = rgba(getComputedStyle(element).backgroundColor);
      if (colour[3] === 255) return colour;
    }
    return rgba("Canvas");
  };
  const faint = [];
  for (const element of document.body.querySelectorAll("*")) {
    const words = [...element.childNodes].filter(node => node.nodeType === 3 && node.data.trim());
    if (!words.length || !element.checkVisibility() || element.closest(".unseen, option")) continue;
    const [text, behind] = [rgba(getComputedStyle(element).color), background(element)].map(luminance);
    const contrast = (Math.max(text, behind) + 0.05) / (Math.min(text, behind) + 0.05);
    if (contrast < 4.5) faint.push(`${words[0].data.trim()}: ${contrast.toFixed(2)}`);
  }
  return faint;
})()"#;
