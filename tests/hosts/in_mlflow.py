"""The standalone page as an artifact in MLflow's own pages, which show it in a frame of an opaque origin. A picture goes
into the folder that is the first argument.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import mlflow
import vramscope
from served import FIXTURES, PATIENCE_S, browser, free_port, served


def main() -> None:
    """Runs the test."""
    pictures = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        runs = f"sqlite:///{folder}/runs.db"
        mlflow.set_tracking_uri(runs)
        mlflow.set_experiment(experiment_id=mlflow.create_experiment("memory", artifact_location=f"file://{folder}/artifacts"))
        report = Path(folder, "memory.html")
        vramscope.open(FIXTURES / "training.pickle").to_html(report)
        with mlflow.start_run() as run:
            mlflow.log_artifact(str(report))
        port = free_port()
        command = [sys.executable, "-m", "mlflow", "ui", "--backend-store-uri", runs, "--workers", "1", "--port", port]
        with served(command, port, "/health", folder) as address, browser() as chromium:
            page = chromium.new_page(viewport={"width": 1400, "height": 900})
            page.goto(f"{address}/#/experiments/{run.info.experiment_id}/runs/{run.info.run_id}/artifacts/memory.html")
            frame = page.frame_locator("iframe").first
            frame.get_by_text("Peak live", exact=True).first.wait_for(timeout=PATIENCE_S * 1000)
            frame.locator(".rail").get_by_text("Timeline").click()
            frame.locator(".stage canvas").first.wait_for(timeout=PATIENCE_S * 1000)
            page.screenshot(path=pictures / "mlflow.png")
    print("the standalone page works in MLflow")


if __name__ == "__main__":
    main()
