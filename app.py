"""The ASGI application: `streamlit run app.py`, or any ASGI server (`uvicorn app:app`)."""

import streamlit as st
from starlette.middleware import Middleware

from ffn_app.assets import asset_routes
from ffn_app.security import SecurityHeaders

# The script lives inside ffn_app/: beside pages/ Streamlit would start in its automatic multi-page
# mode, and the first deep link to a cold server would run a page without the script around it.
app = st.App("ffn_app/main.py", routes=asset_routes(), middleware=[Middleware(SecurityHeaders)])
