//! The page driven without a browser.
