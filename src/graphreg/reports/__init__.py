"""Reports: pictures, charts, HTML pages and the live viewer."""
