"""Lines in place of a bar, where there is no terminal."""

from diffop.runs.metrics import Metric
from diffop.train import loggers


def test_a_line_now_and_then(capsys, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(loggers.time, "monotonic", lambda: now[0])
    bar = loggers.Bar(200, 1000)
    for step, seconds, error in [(300, 10, 0.5), (400, 20, None), (500, 30, None), (600, 40, 0.25)]:
        now[0] = 100.0 + seconds
        bar.log(Metric(step, 1 / step, error, 0.0))
    now[0] = 160.0
    bar.log(Metric(700, 1 / 700, None, 0.0))
    bar.close(failed=False)
    assert capsys.readouterr().err.splitlines() == [
        "diffop: step 500 of 1000, loss 2.00e-03, error 5.00e-01, 10 steps/s, 00:50 left",
        "diffop: step 700 of 1000, loss 1.43e-03, error 2.50e-01, 8.33 steps/s, 00:36 left",
    ]
